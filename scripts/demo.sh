#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demo: two processes whose kernels put data through the software NIC and shared memory, at thread and at warp scope,
# with doorbells rung by the "GPU" and by the CPU on its behalf. Every byte is compared at the receiver.
#     scripts/demo.sh BUILD_FOLDER
# Ends with a table and a picture in BUILD_FOLDER/demo; exit status 0: all bytes verified, 1: not, 3: a run failed.
set -eu

build=${1:?usage: demo.sh BUILD_FOLDER}
gdaki=$build/bin/gdaki
out=$build/demo
sizes=8,32,128,512,2K,8K,32K,128K,512K,1M
seconds=${GDAKI_DEMO_SECONDS:-0.3}

[ -x "$gdaki" ] || { echo "demo: $gdaki is not there: build first (make)" >&2; exit 3; }
mkdir -p "$out"
rm -f "$out"/*.csv "$out"/*.svg "$out"/*.png "$out"/*.dat
# The demo shows what runs everywhere: the CPU stand-in for the GPU and the software NIC.
GDAKI_GPU=cpu GDAKI_NIC=softnic
export GDAKI_GPU GDAKI_NIC

verdict=0
# run TEST SCOPE HANDLER OPTIONS...: one test as two processes; its CSV is $out/TEST-SCOPE-HANDLER.csv
run() {
    test=$1 scope=$2 handler=$3
    shift 3
    status=0
    timeout 100 "$gdaki" perf "$test" --pair --scope "$scope" --handler "$handler" -s "$sizes" \
        --csv "$out/$test-$scope-$handler.csv" "$@" || status=$?
    [ "$status" -eq 0 ] || echo "demo: $test ($scope, $handler) ended with status $status" >&2
    [ "$status" -le "$verdict" ] || verdict=$status
    echo
}

for scope in thread warp; do
    for handler in gpu-db cpu-proxy; do
        run put-bw "$scope" "$handler" -D "$seconds"
        run put-lat "$scope" "$handler" -n 320 --warmup 64
    done
done

# One line a mode and size: rate and bandwidth from put-bw, latency from put-lat, verified only if both are.
awk -F, -v out="$out" '
    function figure(values, key, format) { return key in values ? sprintf(format, values[key]) : "failed" }
    FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    {
        key = $column["scope"] "/" $column["doorbell"] "," $column["size_bytes"]
        if (!(key in seen)) { seen[key] = 1; order[++n] = key }
        if ($column["test"] == "put-bw") {
            rate[key] = $column["messages_per_s"]; bandwidth[key] = $column["gb_per_s"]
        } else {
            p50[key] = $column["lat_p50_us"]; p99[key] = $column["lat_p99_us"]
        }
        ok[key] += $column["verified"] == "yes"
        gpu = $column["gpu"]; nic = $column["nic"]; wire = $column["wire"]
    }
    END {
        printf "GPU: %s   NIC: %s   wire: %s   two processes, put\n", gpu, nic, wire
        printf "messages/s, GB/s: 32 threads on one queue; latency: a call to its completion, alone (warp: 32 puts a call), microseconds\n"
        printf "%-18s %9s %13s %9s %9s %9s  %s\n", "scope/doorbell", "size B", "messages/s", "GB/s", "lat p50", "lat p99", "verified"
        for (i = 1; i <= n; i++) {
            split(order[i], part, ",")
            k = order[i]
            verified = ok[k] == 2 ? "yes" : "NO"
            bad += verified == "NO"
            printf "%-18s %9d %13s %9s %9s %9s  %s\n", part[1], part[2], figure(rate, k, "%.0f"), figure(bandwidth, k, "%.3f"),
                   figure(p50, k, "%.2f"), figure(p99, k, "%.2f"), verified
            file = part[1]; gsub("/", "-", file)
            printf "%d %s %s %s %s\n", part[2], figure(rate, k, "%.1f"), figure(bandwidth, k, "%.6f"),
                   figure(p50, k, "%.3f"), figure(p99, k, "%.3f") > (out "/" file ".dat")
        }
        exit bad > 0
    }' "$out"/put-*.csv > "$out/table.txt" || [ "$verdict" -ne 0 ] || verdict=1
cat "$out/table.txt"

# draw TERMINAL FILE
draw() {
    gnuplot <<PLOT
set terminal $1
set output '$2'
set multiplot layout 1,2 title 'put through the software NIC, two processes, shared memory' noenhanced
set logscale x 2
set logscale y
set grid
set xlabel 'message size, bytes'
set xtics ('8' 8, '64' 64, '512' 512, '4K' 4096, '32K' 32768, '256K' 262144, '1M' 1048576)
set datafile missing 'failed'
set key top left
set ylabel 'GB/s'
files = system("ls $out/*.dat")
label(f) = f[strstrt(f, '/demo/') + 6 : strlen(f) - 4]
plot for [f in files] f using 1:3 with linespoints title label(f) noenhanced
set ylabel 'latency p50, microseconds' noenhanced
plot for [f in files] f using 1:4 with linespoints title label(f) noenhanced
unset multiplot
PLOT
}
if command -v gnuplot > /dev/null; then
    draw "svg size 1200,520 background '#ffffff'" "$out/put.svg"
    draw "pngcairo size 1200,520" "$out/put.png"
    echo
    echo "Picture: $out/put.svg and $out/put.png   figures: $out/*.csv"
else
    echo "demo: no picture, gnuplot is not installed" >&2
fi

if [ "$verdict" -eq 0 ]; then
    echo "All bytes verified at the receiver."
else
    echo "demo: FAILED (status $verdict)" >&2
fi
exit "$verdict"
