# SPDX-License-Identifier: Apache-2.0
# Names what include/host/mlx5_ifc.h lays out, a row each: FIELD(structure, field), AREA(structure, member), OPCODE(name).
/^(struct|union) mlx5_ifc_[a-z0-9_]+_bits \{/ {
    s = $1 == "struct" ? substr($2, 10, length($2) - 14) : ""
    if (s != "")
        print "STRUCTURE(" s ")"
    next
}
/^};/ { s = ""; next }
s != "" && $1 == "uint8_t" && $2 !~ /^reserved_/ {
    sub(/\[.*/, "", $2)
    print "FIELD(" s ", " $2 ")"
}
s != "" && ($1 == "struct" || $1 == "union") {
    sub(/;/, "", $3)
    print "AREA(" s ", " $3 ")"
}
/^    MLX5_CMD_OP_[A-Z0-9_]+ = / { print "OPCODE(" substr($1, 13) ")" }
