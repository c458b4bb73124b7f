#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools.sh FOLDER shm|udp|kill|pass: rdma-core's tools, as packaged, on the drop-ins in FOLDER.
#   shm   pairs of processes that share a device
#   udp   two addresses, and what a capture of it says
#   kill  a client that is killed: its server is told, and the next pair is not disturbed
#   pass  requests that reach a process without interest in them are passed on; when it dies, the next one does it
set -u
folder=$1
mode=$2
for tool in rping ucmatose udaddy rdma_server rdma_client; do
    command -v "$tool" >/dev/null 2>&1 || { echo "SKIP: $tool is not installed (scripts/install-deps.sh compat)"; exit 77; }
done
export LD_LIBRARY_PATH="$folder" SOFTNIC_LOG=warn SOFTNIC_NAMES=softnic
unset SOFTNIC_PCAP SOFTNIC_FAULTS SOFTNIC_WIRE SOFTNIC_GID SOFTNIC_DEVICES SOFTNIC_LINK 2>/dev/null || true
work=$(mktemp -d)
pids=
cleanup() {
    for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
    rm -rf "$work"
}
trap cleanup EXIT

die() {
    echo "$*"
    for log in "$work"/*.log; do
        echo "--- $log"
        cat "$log"
    done
    exit 1
}

# listening TCP|UDP PORT [COUNT]: waits until the service is served in COUNT processes or devices.
listening() {
    space=106 # IP protocol 6
    [ "$1" = UDP ] && space=111
    name=$(printf 'softnic-cm-000000000%s%04x/' "$space" "$2")
    i=0
    while [ "$(grep -a "$name" /proc/net/unix | awk '$4 == "00010000"' | wc -l)" -lt "${3:-1}" ]; do
        i=$((i + 1))
        if [ "$i" -gt 1200 ] || ! kill -0 "$started" 2>/dev/null; then
            die "nobody listens on $1 $2"
        fi
        sleep 0.05
    done
}

# start NAME COMMAND...: in the background; its number is left in $started
start() {
    log=$1
    shift
    "$@" >"$work/$log.log" 2>&1 &
    started=$!
    pids="$pids $started"
}

# ended_well CODE LOG: rping has a race of its own. When all is done, its main thread destroys the event channel; if the thread
# that fetches events has not come back to it by then, that one says so and ends the process with 255. What was to be done is
# judged by what was said before (pings).
ended_well() {
    [ "$1" -eq 0 ] || { [ "$1" -eq 255 ] && grep -q '^rdma_get_cm_event: Bad file descriptor$' "$work/$2.log"; }
}

# finish NAME PID: the server must end by itself, and well. (The test as a whole has a time limit.)
finish() {
    wait "$2"
    code=$?
    ended_well $code server || die "$1: exit code $code"
}

run() {
    log=$1
    shift
    timeout 200 "$@" >"$work/$log.log" 2>&1
    code=$?
    ended_well $code "$log" || die "$*: exit code $code"
}

pings() { # LOG COUNT WORDS
    [ "$(grep -c "$3" "$work/$1.log")" -eq "$2" ] || die "$1: not $2 lines with \"$3\""
}

port=$((20000 + $$ % 20000))
own=10.78.$(($$ / 250 % 250)).$(($$ % 250 + 1)) # a device that nobody else has

shm() {
    for link in eth ib; do
        export SOFTNIC_LINK=$link SOFTNIC_GID="$own"
        start server rping -s -C 5 -v -p $port
        listening TCP $port
        run client rping -c -a 127.0.0.1 -C 5 -v -p $port
        finish "rping -s" "$started"
        pings server 5 'server ping data: rdma-ping-'
        pings client 5 '^ping data: rdma-ping-'

        start server rping -s -q -C 5 -v -p $port # with queue pairs of its own
        listening TCP $port
        run client rping -c -q -a 127.0.0.1 -C 5 -v -p $port
        finish "rping -s -q" "$started"
        pings client 5 '^ping data: rdma-ping-'

        start server ucmatose -p $port -c 8 -C 10 -S 3000
        listening TCP $port
        run client ucmatose -s 127.0.0.1 -p $port -c 8 -C 10 -S 3000
        finish ucmatose "$started"
        pings client 1 'return status 0'

        start server ucmatose -P ib -p $port
        i=0
        until grep -aq "softnic-cm-00000000013f$(printf %04x $port)/" /proc/net/unix; do
            i=$((i + 1))
            [ "$i" -lt 1200 ] || die "nobody listens in port space IB"
            sleep 0.05
        done
        run client ucmatose -P ib -s 127.0.0.1 -p $port
        finish ucmatose "$started"

        start server udaddy -c 4 -C 10
        listening UDP 7174 # it has no option for it
        run client udaddy -s 127.0.0.1 -c 4 -C 10
        finish udaddy "$started"
        pings client 1 'return status 0'

        start server rdma_server -p $port
        listening TCP $port
        run client rdma_client -s 127.0.0.1 -p $port
        finish rdma_server "$started"
        pings client 1 'rdma_client: end 0'
    done
    host=$(hostname -I 2>/dev/null | awk '{print $1}')
    case $host in
        *.*)
            start server rping -s -C 2 -v -p $port
            listening TCP $port
            run client rping -c -a "$host" -C 2 -v -p $port
            finish "rping -s" "$started"
            pings client 2 '^ping data: rdma-ping-'
            ;;
    esac
    run client sh -c "! rping -c -a 127.0.0.1 -C 1 -p $((port + 1))"
    grep -q 'RDMA_CM_EVENT_REJECTED, error 8' "$work/client.log" || die "a service that nobody serves"
}

udp() {
    start server env SOFTNIC_WIRE=udp:127.0.31.1 rping -s -C 3 -v -p $port
    listening TCP $port
    run client env SOFTNIC_WIRE=udp:127.0.31.2 SOFTNIC_PCAP="$work/client.pcap" rping -c -a 127.0.31.1 -C 3 -v -p $port
    finish "rping -s" "$started"
    pings client 3 '^ping data: rdma-ping-'
    command -v tshark >/dev/null 2>&1 || { echo "no tshark: the capture was not looked at"; return; }
    tshark -n -r "$work/client.pcap" -T fields -e infiniband.mad.attributeid -e infiniband.bth.destqp -e infiniband.deth.q_key \
        -e infiniband.cm.req.ip_cm.sport -e _ws.malformed -Y 'infiniband.mad' >"$work/mads.log" 2>"$work/tshark.log" ||
        die "tshark"
    awk '{print $1}' "$work/mads.log" | tr '\n' ' ' >"$work/kinds"
    # REQ, REP, RTU, DREQ; the DREP comes when the client has gone, or before.
    grep -q '^0x0010 0x0013 0x0014 0x0015 ' "$work/kinds" || die "not the messages of one connection: $(cat "$work/kinds")"
    if awk '$2 !~ /^0x0*1$/ || $3 !~ /80010000$/' "$work/mads.log" | grep -q .; then
        die "not to queue pair 1 with its Q_Key"
    fi
    tshark -n -r "$work/client.pcap" -V -Y 'infiniband.mad.attributeid == 0x10' >"$work/req.log" 2>/dev/null
    for words in 'Protocol: 0x06' "Destination Port: 0x$(printf %04x $port)" 'IP CM Source IP: 127.0.31.2' \
        'IP CM Destination IP: 127.0.31.1' 'Path Packet Payload MTU: 0x' 'Primary Local Port GID: 127.0.31.2'; do
        grep -q "$words" "$work/req.log" || die "the REQ does not say: $words"
    done
    grep -q Malformed "$work/req.log" && die "malformed"
    return 0
}

kill_client() {
    for round in 1 2 3; do
        start server rping -s -v -p $port
        server=$started
        listening TCP $port
        start client rping -c -a 127.0.0.1 -C 100000000 -v -p $port
        client=$started
        until grep -q 'rdma-ping-' "$work/client.log"; do
            kill -0 "$client" 2>/dev/null || die "round $round: the client has gone"
            sleep 0.05
        done
        kill -9 "$client"
        wait "$client" 2>/dev/null
        wait "$server" # it is told: RDMA_CM_EVENT_DISCONNECTED
        case $? in
            0 | 255 | 254 | 251) ;;
            *) die "round $round: the server ends with $?" ;;
        esac
    done
    if grep -a "softnic-cm.*$(printf %04x $port)/" /proc/net/unix; then
        die "a name is left"
    fi
    start server rping -s -C 2 -v -p $port
    listening TCP $port
    run client rping -c -a 127.0.0.1 -C 2 -v -p $port
    finish "rping -s" "$started"
    pings client 2 '^ping data: rdma-ping-'
}

# Devices with 10.77.0.1 and 10.77.0.2. The client has the first only, and reaches the lowest process of the second.
pass_on() {
    export SOFTNIC_GID=10.77.0.1,10.77.0.2 SOFTNIC_DEVICES=2
    start bystander rping -s -p $((port + 1))
    bystander=$started
    listening TCP $((port + 1)) 2
    for round in 1 2; do
        start server rping -s -C 3 -v -p $port
        listening TCP $port 2
        SOFTNIC_GID=10.77.0.1 SOFTNIC_DEVICES=1 run client rping -c -a 10.77.0.2 -C 3 -v -p $port
        finish "round $round: rping -s" "$started"
        pings client 3 '^ping data: rdma-ping-'
        [ $round -eq 1 ] && kill -9 "$bystander"
        wait "$bystander" 2>/dev/null
    done
}

case $mode in
    shm) shm ;;
    udp) udp ;;
    kill) kill_client ;;
    pass) pass_on ;;
    *) die "tools.sh: unknown mode $mode" ;;
esac
echo "$mode: as it should be"
