"""Logs for tests: real ones in this folder, and layouts of programs that were not available."""

from __future__ import annotations

from pathlib import Path

from dumbbell.formats.logs import READERS, LogFormat, LogReader, LogText

FOLDER = Path(__file__).parent / "logs"

MACOS_PING = """\
PING 192.0.2.1 (192.0.2.1): 56 data bytes
64 bytes from 192.0.2.1: icmp_seq=0 ttl=57 time=12.125 ms
Request timeout for icmp_seq 1
64 bytes from 192.0.2.1: icmp_seq=2 ttl=57 time=14.500 ms
64 bytes from 192.0.2.1: icmp_seq=3 ttl=57 time=13.375 ms

--- 192.0.2.1 ping statistics ---
4 packets transmitted, 3 packets received, 25.0% packet loss
round-trip min/avg/max/stddev = 12.125/13.333/14.500/0.970 ms
"""

MACOS_PING_ERRORS = """\
PING www.example.net (192.0.2.1): 56 data bytes
64 bytes from 192.0.2.1: icmp_seq=0 ttl=57 time=12.125 ms
ping: sendto: No route to host
Request timeout for icmp_seq 1
92 bytes from 192.0.2.254: Destination Host Unreachable
Vr HL TOS  Len   ID Flg  off TTL Pro  cks      Src      Dst
 4  5  00 5400 1234   0 0000  40  01 abcd 192.0.2.7  192.0.2.1

64 bytes from 192.0.2.1: icmp_seq=3 ttl=57 time=13.375 ms
^C
--- www.example.net ping statistics ---
4 packets transmitted, 2 packets received, 50.0% packet loss
round-trip min/avg/max/stddev = 12.125/12.750/13.375/0.625 ms
"""
MACOS_PING6 = """\
PING6(56=40+8+8 bytes) 2001:db8::2 --> 2001:db8::1
16 bytes from 2001:db8::1, icmp_seq=0 hlim=56 time=12.311 ms
16 bytes from 2001:db8::1, icmp_seq=1 hlim=56 time=13.311 ms
Request timeout for icmp_seq=2

--- 2001:db8::1 ping6 statistics ---
3 packets transmitted, 2 packets received, 33.3% packet loss
round-trip min/avg/max/std-dev = 12.311/12.811/13.311/0.500 ms
"""
BUSYBOX_PING6 = """\
PING fe80::1%eth0 (fe80::1%2): 56 data bytes
64 bytes from fe80::1%eth0: seq=0 ttl=64 time=0.512 ms
64 bytes from fe80::1%eth0: seq=1 ttl=64 time=0.400 ms

--- fe80::1%eth0 ping statistics ---
3 packets transmitted, 2 packets received, 33% packet loss
round-trip min/avg/max = 0.400/0.456/0.512 ms
"""

SS_OLD = """\
State      Recv-Q Send-Q Local Address:Port               Peer Address:Port
ESTAB      0      144800 10.0.0.1:42314                10.0.0.2:5201
\t cubic wscale:7,7 rto:236 rtt:33.5/1.25 mss:1448 cwnd:40 ssthresh:31 bytes_acked:2897449 \
segs_out:2101 segs_in:1055 data_segs_out:2099 send 13.8Mbps lastrcv:1883256 pacing_rate 16.6Mbps \
delivery_rate 9.5Mbps busy:2440ms unacked:38 retrans:0/12 rcv_space:29200 notsent:89776 minrtt:10.1

"""
"""iproute2 4 and 5 round rates."""

TC_OLD = """\
qdisc tbf 1: root refcnt 2 rate 10Mbit burst 10Kb lat 40.0ms
 Sent 8313678 bytes 5597 pkt (dropped 890, overlimits 12652 requeues 0)
 backlog 49Kb 34p requeues 0
qdisc pie 10: parent 1:1 limit 1000p target 15.0ms tupdate 16.0ms alpha 2 beta 20
 Sent 8313678 bytes 5597 pkt (dropped 890, overlimits 0 requeues 0)
 backlog 49Kb 34p requeues 0
  prob 0.0125 delay 14.3ms avg_dq_rate 1250000
  pkts_in 6500 overlimit 0 dropped 890 maxq 60 ecn_mark 3
"""

FQ_CODEL = """\
qdisc fq_codel 110: dev eth2 parent 1:10 limit 1001p flows 1024 quantum 1514 target 5ms \
interval 100ms memory_limit 32Mb ecn drop_batch 64
 Sent 37986258 bytes 26779 pkt (dropped 6208, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
  maxpacket 1514 drop_overlimit 0 new_flow_count 1250 ecn_mark 7
  new_flows_len 0 old_flows_len 2
"""

CAKE = """\
qdisc cake 8004: dev eth0 root refcnt 2 bandwidth 10Mbit diffserv4 triple-isolate nonat nowash \
no-ack-filter split-gso rtt 100ms raw overhead 0
 Sent 1000600 bytes 900 pkt (dropped 20, overlimits 1800 requeues 0)
 backlog 15140b 10p requeues 0
 memory used: 165760b of 4Mb
 capacity estimate: 10Mbit
 min/max network layer size:           46 /    1500
 min/max overhead-adjusted size:       46 /    1500
 average network hdr offset:           14

                   Bulk  Best Effort        Video        Voice
  thresh        625Kbit       10Mbit        5Mbit     2500Kbit
  target         29.1ms          5ms          5ms       7.27ms
  interval        124ms        100ms        100ms        102ms
  pk_delay          0us       20.7ms         34us          0us
  av_delay          0us       10.5ms          5us          0us
  sp_delay          0us          1us          1us          0us
  backlog            0b       15140b           0b           0b
  pkts                0          925            5            0
  bytes               0      1029000         1880            0
  way_inds            0           12            0            0
  way_miss            0           17            1            0
  way_cols            0            0            0            0
  drops               0           20            0            0
  marks               0            7            0            0
  ack_drop            0            3            0            0
  sp_flows            0            1            1            0
  bk_flows            0            2            0            0
  un_flows            0            0            0            0
  max_len             0         1514          590            0
  quantum           300          305          300          300

"""
CAKE_JSON = """\
[{"kind":"cake","handle":"8004:","dev":"eth0","root":true,"refcnt":2,"options":{"bandwidth":1250000,\
"diffserv":"besteffort"},"bytes":1000600,"packets":900,"drops":20,"overlimits":1800,"requeues":0,\
"backlog":15140,"qlen":10,"memory_used":165760,"tins":[{"threshold_rate":1250000,"sent_bytes":\
1029000,"backlog_bytes":15140,"target_us":5000,"interval_us":100000,"peak_delay_us":20700,\
"avg_delay_us":10500,"base_delay_us":1,"sent_packets":925,"drops":20,"ecn_mark":7,"ack_drops":3}]}]
"""
TC_CLASSES = """\
class hfsc 1: root
 Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
 period 0 level 2

class hfsc 1:10 parent 1:1 leaf 10: rt m1 250Kbit d 30ms m2 50Kbit ls m1 250Kbit d 50ms m2 50Kbit
 Sent 1300885 bytes 7052 pkt (dropped 4, overlimits 0 requeues 0)
 backlog 3028b 2p requeues 0
 period 6502 work 1300885 bytes rtwork 1245495 bytes level 0

class htb 2:10 parent 2:1 leaf 20: prio rate 5Gbit ceil 5Gbit burst 50000Kb cburst 50000Kb
 Sent 6319983308 bytes 4345978 pkt (dropped 662, overlimits 9365 requeues 0)
 backlog 0b 0p requeues 0
 lended: 297462 borrowed: 0 giants: 0
 tokens: -1279998 ctokens: 1279998

class fq_codel 20:313 parent 20:
 (dropped 5, overlimits 0 requeues 0)
 backlog 4542b 3p requeues 0
  deficit 826 count 2 lastcount 1 ldelay 12.5ms dropping drop_next 8.5ms
"""
TC_CLASSES_JSON = """\
[{"class":"htb","handle":"1:10","parent":"1:1","leaf":"10:","prio":0,"rate":625000,"ceil":625000,\
"stats":{"bytes":123456,"packets":789,"drops":12,"overlimits":34,"requeues":0,"backlog":3028,\
"qlen":2,"lended":700,"borrowed":0,"giants":0,"tokens":-17,"ctokens":5}},{"class":"fq_codel",\
"handle":"10:313","parent":"10:","stats":{"drops":5,"overlimits":0,"requeues":0,"backlog":4542,\
"qlen":3,"deficit":826}}]
"""

NDT7_EVENTS = """\
{"Key":"starting","Value":{"Test":"download"}}
{"Key":"connected","Value":{"Test":"download","Server":"ndt.example.net"}}
{"Key":"measurement","Value":{"AppInfo":{"ElapsedTime":1000000,"NumBytes":5000000},\
"Origin":"client","Test":"download"}}
{"Key":"measurement","Value":{"TCPInfo":{"BytesAcked":5200000,"BytesRetrans":15000,\
"BytesSent":5400000,"BytesReceived":900,"MinRTT":5949,"RTT":8200,"ElapsedTime":1000100},\
"ConnectionInfo":{"Client":"192.0.2.7:443","Server":"192.0.2.1:443","UUID":"x"},"Origin":"server",\
"Test":"download"}}
{"Key":"measurement","Value":{"AppInfo":{"ElapsedTime":2000000,"NumBytes":11000000},\
"Origin":"client","Test":"download"}}
{"Key":"measurement","Value":{"TCPInfo":{"BytesAcked":11000000,"BytesRetrans":30000,\
"BytesSent":12000000,"BytesReceived":950,"MinRTT":5900,"RTT":18200,"ElapsedTime":2000100},\
"Origin":"server","Test":"download"}}
{"Key":"complete","Value":{"Test":"download"}}
{"Key":"measurement","Value":{"AppInfo":{"ElapsedTime":2000000,"NumBytes":2500000},\
"Origin":"client","Test":"upload"}}
{"Key":"measurement","Value":{"TCPInfo":{"BytesReceived":2000000,"BytesSent":800,"MinRTT":6486,\
"RTT":30000,"ElapsedTime":2000000},"Origin":"server","Test":"upload"}}
"""
NDT7_SUMMARY = """\
{"ServerFQDN":"ndt.example.net","ServerIP":"192.0.2.1","ClientIP":"192.0.2.7","Download":{"UUID":\
"x","Throughput":{"Value":45.25,"Unit":"Mbit/s"},"Latency":{"Value":5.949,"Unit":"ms"},\
"Retransmission":{"Value":0.25,"Unit":"%"}},"Upload":{"UUID":"y","Throughput":{"Value":40.5,\
"Unit":"Mbit/s"},"Latency":{"Value":6.486,"Unit":"ms"},"Retransmission":{"Value":0,"Unit":""}}}
"""
NDT7_ARCHIVED = """\
{"GitShortCommit":"0","Version":"v0.20","ServerIP":"192.0.2.1","ServerPort":443,"ClientIP":\
"192.0.2.7","StartTime":"2026-11-27T00:00:00Z","Download":{"UUID":"x","StartTime":\
"2026-11-27T00:00:00Z","ServerMeasurements":[{"BBRInfo":{"BW":5000000,"MinRTT":5949},"TCPInfo":\
{"BytesAcked":11000000,"BytesRetrans":30000,"BytesSent":12000000,"BytesReceived":950,"MinRTT":5900,\
"RTT":18200,"ElapsedTime":2000000}},{"TCPInfo":{"BytesAcked":5200000,"BytesRetrans":15000,\
"BytesSent":5400000,"BytesReceived":900,"MinRTT":5949,"RTT":8200,"ElapsedTime":1000000}}],\
"ClientMeasurements":null}}
"""

IPERF_3_1 = """\
{"start":{"connected":[{"socket":4,"local_host":"10.0.0.1","local_port":47790,
"remote_host":"10.0.0.2","remote_port":5201}],"version":"iperf 3.1.3","timestamp":{"timesecs":
1600773903},"connecting_to":{"host":"10.0.0.2","port":5201},"test_start":{"protocol":"UDP",
"num_streams":1,"blksize":8192,"omit":0,"duration":2,"bytes":0,"blocks":0,"reverse":0}},
"intervals":[{"streams":[{"socket":4,"start":0,"end":1.0,"seconds":1.0,"bytes":1.25e+06,
"bits_per_second":1.0e+07,"packets":152,"omitted":false}]},
{"streams":[{"socket":4,"start":1.0,"end":2.0,"seconds":1.0,"bytes":1250000,
"bits_per_second":10000000.0,"packets":153,"omitted":false}]}],
"end":{"streams":[{"udp":{"socket":4,"start":0,"end":2.0,"seconds":2.0,"bytes":2500000,
"bits_per_second":10000000.0,"jitter_ms":0.125,"lost_packets":61,"packets":305,
"lost_percent":20.0}}],"sum":{"start":0,"end":2.0,"seconds":2.0,"bytes":2500000,
"bits_per_second":10000000.0,"jitter_ms":0.125,"lost_packets":61,"packets":305,
"lost_percent":20.0}}}
"""

IPERF_EVENTS = """\
{"event":"start","data":{"version":"iperf 3.17.1","test_start":{"protocol":"TCP","reverse":0}}}
{"event":"interval","data":{"streams":[{"socket":5,"start":0,"end":1,"seconds":1,"bytes":1187500,\
"bits_per_second":9500000,"retransmits":3,"snd_cwnd":57920,"rtt":33500,"rttvar":1250,"sender":true,\
"omitted":false}]}}
{"event":"end","data":{"sum_sent":{"seconds":1,"bytes":1187500,"bits_per_second":9500000,\
"retransmits":3,"sender":true},"sum_received":{"seconds":1.04,"bytes":1170000,\
"bits_per_second":9000000,"sender":true}}}
"""

NETPERF_STREAM = """\
MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.7 () port 0 AF_INET : demo
Interim result: 9.250 10^6bits/s over 1.002 seconds ending at 1559149724.219
Interim result: 9.750 10^6bits/s over 1.001 seconds ending at 1559149725.221
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

131072  16384  16384    10.02       9.50
"""

NETPERF_OTHERS = """\
MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.7 () port 0 AF_INET
Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992    1472   10.00       10000      0      11.78
212992           10.00        8000              9.42

MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 192.0.2.7 () port 0 \
AF_INET : first burst 0
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  131072 1        1       10.00     481.25
16384  131072
"""

NETPERF_OMNI = """\
OMNI Send TEST from 0.0.0.0 () port 0 AF_INET to 192.0.2.7 () port 0 AF_INET : demo
NETPERF_INTERIM_RESULT[0]=9.25
NETPERF_UNITS[0]=10^6bits/s
NETPERF_INTERVAL[0]=0.200
NETPERF_ENDING[0]=1559149724.219
THROUGHPUT=9500.00
THROUGHPUT_UNITS=10^3bits/s
ELAPSED_TIME=10.02
LOCAL_TRANSPORT_RETRANS=17
"""

# What iperf 2.1.8 printed with `-y C` on a loopback.
IPERF_2_TCP = """\
20261124060612,127.0.0.1,49730,127.0.0.1,5601,1,0.0-1.0,655420,5243360
20261124060612,127.0.0.1,49744,127.0.0.1,5601,2,0.0-1.0,655420,5243360
20261124060613,127.0.0.1,49730,127.0.0.1,5601,1,1.0-2.0,655360,5242880
20261124060613,127.0.0.1,49744,127.0.0.1,5601,2,1.0-2.0,655360,5242880
20261124060613,127.0.0.1,49730,127.0.0.1,5601,1,0.0-2.1,1441852,5413304
20261124060613,127.0.0.1,49744,127.0.0.1,5601,2,0.0-2.1,1441852,5422440
"""
IPERF_2_UDP = """\
20261124060615,127.0.0.1,46069,127.0.0.1,5602,1,0.0-1.0,127890,1023120,0.002,0,87,0.000,0
20261124060616,127.0.0.1,46069,127.0.0.1,5602,1,1.0-2.0,124950,999600,0.003,3,85,3.500,0
20261124060616,127.0.0.1,46069,127.0.0.1,5602,1,0.0-2.0,255780,1010253,0.002,3,172,1.700,0
"""

# After public logs of Windows 7 to 11; addresses and times are our own.
WINDOWS_ENGLISH = """\
Pinging example.net [192.0.2.1] with 32 bytes of data:
Reply from 192.0.2.1: bytes=32 time=14ms TTL=117
Reply from 192.0.2.1: bytes=32 time<1ms TTL=117
Request timed out.
Reply from 192.0.2.254: Destination host unreachable.
Reply from 192.0.2.1: bytes=64 (sent 1472) time=34ms TTL=46

Ping statistics for 192.0.2.1:
    Packets: Sent = 5, Received = 4, Lost = 1 (20% loss),
Approximate round trip times in milli-seconds:
    Minimum = 0ms, Maximum = 34ms, Average = 16ms
"""
WINDOWS_GERMAN = """\
Ping wird ausgeführt für 192.0.2.1 mit 32 Bytes Daten:
Antwort von 192.0.2.1: Bytes=32 Zeit=12ms TTL=117
Zeitüberschreitung der Anforderung.
Antwort von 192.0.2.1: Bytes=32 Zeit<1ms TTL=117
Antwort von 192.0.2.9: Zielhost nicht erreichbar.

Ping-Statistik für 192.0.2.1:
    Pakete: Gesendet = 4, Empfangen = 3, Verloren = 1
    (25% Verlust),
Ca. Zeitangaben in Millisek.:
    Minimum = 0ms, Maximum = 12ms, Mittelwert = 6ms
"""
WINDOWS_FRENCH = """\
Envoi d’une requête 'Ping'  192.0.2.1 avec 32 octets de données :
Réponse de 192.0.2.1 : octets=32 temps=12 ms TTL=117
Réponse de 192.0.2.1 : octets=32 temps<1ms TTL=117
Délai d’attente de la demande dépassé.
Réponse de 192.0.2.9 : Impossible de joindre l’hôte de destination.

Statistiques Ping pour 192.0.2.1:
    Paquets : envoyés = 4, reçus = 3, perdus = 1 (perte 25%),
Durée approximative des boucles en millisecondes :
    Minimum = 0ms, Maximum = 12ms, Moyenne = 6ms
"""
WINDOWS_IPV6 = """\
Pinging ::1 with 32 bytes of data:
Reply from ::1: time<1ms \n\
Reply from 2001:db8::1: time=13ms \n\

Ping statistics for ::1:
    Packets: Sent = 2, Received = 2, Lost = 0 (0% loss),
Approximate round trip times in milli-seconds:
    Minimum = 0ms, Maximum = 13ms, Average = 6ms
"""

WAVEFORM = """\
====== WAVEFORM.COM BUFFERBLOAT TEST RESULTS======
Test ID,00000000-0000-4000-8000-000000000000
Unix Time,1764288000000
Bufferbloat Grade,C

====== SUMMARY ======
Download speed (Mbps),92.5
Upload speed (Mbps),18.25
Mean Unloaded Latency (ms),21
Increase In Mean Latency During Download Test (ms),60
Increase In Mean During Upload Test (ms),4
====== UNLOADED LATENCY MEASUREMENTS (ms) ======
20
22.5
20.5
====== DOWNLOAD STAGE LATENCY MEASUREMENTS (ms) ======
80.25
81.75
====== UPLOAD STAGE LATENCY MEASUREMENTS (ms) ======
25
"""

WRITTEN = {
    "waveform": (LogFormat.WAVEFORM, WAVEFORM),
    "ndt7-events": (LogFormat.NDT7, NDT7_EVENTS),
    "ndt7-summary": (LogFormat.NDT7, NDT7_SUMMARY),
    "ndt7-archived": (LogFormat.NDT7, NDT7_ARCHIVED),
    "windows-english": (LogFormat.PING, WINDOWS_ENGLISH),
    "windows-german": (LogFormat.PING, WINDOWS_GERMAN),
    "windows-french": (LogFormat.PING, WINDOWS_FRENCH),
    "windows-ipv6": (LogFormat.PING, WINDOWS_IPV6),
    "macos-ping": (LogFormat.PING, MACOS_PING),
    "macos-ping-errors": (LogFormat.PING, MACOS_PING_ERRORS),
    "macos-ping6": (LogFormat.PING, MACOS_PING6),
    "busybox-ping6": (LogFormat.PING, BUSYBOX_PING6),
    "ss-old": (LogFormat.SS, SS_OLD),
    "tc-old": (LogFormat.TC, TC_OLD),
    "fq-codel": (LogFormat.TC, FQ_CODEL),
    "cake": (LogFormat.TC, CAKE),
    "cake-json": (LogFormat.TC, CAKE_JSON),
    "tc-classes": (LogFormat.TC, TC_CLASSES),
    "tc-classes-json": (LogFormat.TC, TC_CLASSES_JSON),
    "iperf-3.1": (LogFormat.IPERF3, IPERF_3_1),
    "iperf-events": (LogFormat.IPERF3, IPERF_EVENTS),
    "iperf-2-tcp": (LogFormat.IPERF, IPERF_2_TCP),
    "iperf-2-udp": (LogFormat.IPERF, IPERF_2_UDP),
    "netperf-stream": (LogFormat.NETPERF, NETPERF_STREAM),
    "netperf-others": (LogFormat.NETPERF, NETPERF_OTHERS),
    "netperf-omni": (LogFormat.NETPERF, NETPERF_OMNI),
}

_BY_PREFIX = {
    "ping": LogFormat.PING,
    "itgdec": LogFormat.ITGDEC,
    "iperf3": LogFormat.IPERF3,
    "iperf": LogFormat.IPERF,
    "ss": LogFormat.SS,
    "tc": LogFormat.TC,
    "irtt": LogFormat.IRTT,
}


def real_logs() -> dict[str, LogFormat]:
    """Names of the files and whose they are."""
    names = sorted(each.name for each in FOLDER.iterdir() if each.suffix in (".txt", ".json"))
    return {name: _BY_PREFIX[name.replace(".", "-").split("-")[0]] for name in names}


def sample(name: str) -> LogText:
    """A log by its name."""
    if name in WRITTEN:
        return LogText(name, WRITTEN[name][1])
    return LogText.of_file(FOLDER / name)


def all_samples() -> dict[str, LogFormat]:
    """Real and written ones."""
    return {**real_logs(), **{name: format_ for name, (format_, _) in WRITTEN.items()}}


def reader_of(name: str) -> LogReader:
    """The only reader that takes a sample for its own."""
    (found,) = (each for each in READERS if each.is_own(sample(name)))
    return found
