// TCP over a bottleneck on ns-3, three networks:
//
//   tcp_ns3 policing SECONDS SEED                one NewReno flow, token bucket of 4 Mbit/s
//   tcp_ns3 buffer-sizing SECONDS SEED PACKETS   60 NewReno flows in a tree, 50 Mbit/s, FIFO
//   tcp_ns3 bulk SECONDS SEED MBPS               one CUBIC flow, 20 ms, FIFO of one BDP
//
// Each prints one line of JSON. CPU time is that of Simulator::Run alone. What is traced is what
// the engine counts too: at the bottleneck packets, drops and sojourn times, at the sinks payload;
// in `policing` also the sender's state at every change and a sample each 100 ms.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

using namespace ns3;

namespace {

constexpr uint32_t kMssBytes = 1448;
constexpr uint32_t kInitialWindowPkts = 10;
constexpr uint16_t kFirstPort = 5000;
constexpr char kNoDrops[] = "100000p";

struct Counts {
  uint64_t sent_pkts = 0;
  uint64_t dropped_pkts = 0;
  uint64_t received_bytes = 0;
  double sojourn_s = 0;
};
Counts counts;

// What the sender's traces say, as a study of one flow would collect it.
struct Mean {
  uint64_t n = 0;
  double sum = 0;
  void Add(double value) { ++n, sum += value; }
};
struct Traced {
  Mean cwnd_pkts, in_flight_pkts, srtt_ms, backlog_pkts, throughput_mbps;
  uint64_t segments = 0, sampled_bytes = 0;
  uint32_t now_cwnd_bytes = 0, now_in_flight_bytes = 0, now_backlog_pkts = 0;
  double now_srtt_s = 0;
} traced;

void OnSent(Ptr<const Packet>) { ++counts.sent_pkts; }
void OnDropped(Ptr<const QueueDiscItem>) { ++counts.dropped_pkts; }
void OnSojourn(Time sojourn) { counts.sojourn_s += sojourn.GetSeconds(); }
void OnReceived(Ptr<const Packet> packet, const Address&) {
  counts.received_bytes += packet->GetSize();
}
void OnWindow(uint32_t, uint32_t bytes) { traced.now_cwnd_bytes = bytes; }
void OnInFlight(uint32_t, uint32_t bytes) { traced.now_in_flight_bytes = bytes; }
void OnRtt(Time, Time srtt) { traced.now_srtt_s = srtt.GetSeconds(); }
void OnBacklog(uint32_t, uint32_t packets) { traced.now_backlog_pkts = packets; }
void OnSegment(Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>) {
  traced.segments += packet->GetSize() > 0;
}

void Sample(Time interval) {
  const uint64_t bytes = counts.received_bytes - traced.sampled_bytes;
  traced.sampled_bytes = counts.received_bytes;
  traced.throughput_mbps.Add(bytes * 8e-6 / interval.GetSeconds());
  traced.cwnd_pkts.Add(double(traced.now_cwnd_bytes) / kMssBytes);
  traced.in_flight_pkts.Add(double(traced.now_in_flight_bytes) / kMssBytes);
  traced.srtt_ms.Add(traced.now_srtt_s * 1e3);
  traced.backlog_pkts.Add(traced.now_backlog_pkts);
  Simulator::Schedule(interval, &Sample, interval);
}

void TraceSender() {
  const std::string socket = "/NodeList/0/$ns3::TcpL4Protocol/SocketList/0/";
  Config::ConnectWithoutContext(socket + "CongestionWindow", MakeCallback(&OnWindow));
  Config::ConnectWithoutContext(socket + "BytesInFlight", MakeCallback(&OnInFlight));
  Config::ConnectWithoutContext(socket + "RTT", MakeCallback(&OnRtt));
  Config::ConnectWithoutContext(socket + "Tx", MakeCallback(&OnSegment));
}

void SetTcp(const std::string& controller, uint32_t buffer_bytes) {
  Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                     TypeIdValue(TypeId::LookupByName("ns3::" + controller)));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kMssBytes));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(kInitialWindowPkts));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer_bytes));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer_bytes));
}

// Point-to-point links with a queueing discipline at each end and one packet in the device.
class Network {
 public:
  explicit Network(uint32_t hosts) {
    nodes_.Create(hosts);
    InternetStackHelper().Install(nodes_);
    addresses_.SetBase("10.0.1.0", "255.255.255.0");
  }

  // Joins two hosts. The discipline is that of the first's end; the other end never drops.
  Ipv4InterfaceContainer Join(uint32_t a, uint32_t b, const std::string& rate, Time delay,
                              TrafficControlHelper* bottleneck = nullptr) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    NetDeviceContainer ends = link.Install(nodes_.Get(a), nodes_.Get(b));
    TrafficControlHelper large;
    large.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(kNoDrops));
    if (bottleneck != nullptr) {
      queue_ = bottleneck->Install(ends.Get(0)).Get(0);
      queue_->TraceConnectWithoutContext("Drop", MakeCallback(&OnDropped));
      queue_->TraceConnectWithoutContext("SojournTime", MakeCallback(&OnSojourn));
      ends.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&OnSent));
      large.Install(ends.Get(1));
    } else {
      large.Install(ends);
    }
    Ipv4InterfaceContainer interfaces = addresses_.Assign(ends);
    addresses_.NewNetwork();
    return interfaces;
  }

  void AddFlow(uint32_t from, uint32_t to, Ipv4Address address, Time start) {
    const uint16_t port = kFirstPort + flows_++;
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address, port));
    source.SetAttribute("SendSize", UintegerValue(kMssBytes * 4));
    source.Install(nodes_.Get(from)).Start(start);
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sink.Install(nodes_.Get(to));
    sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&OnReceived));
  }

  Ptr<QueueDisc> queue() const { return queue_; }

 private:
  NodeContainer nodes_;
  Ipv4AddressHelper addresses_;
  Ptr<QueueDisc> queue_;
  uint16_t flows_ = 0;
};

TrafficControlHelper Fifo(uint64_t packets) {
  TrafficControlHelper helper;
  helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize",
                          StringValue(std::to_string(packets) + "p"));
  return helper;
}

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

uint64_t PeakRssBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (uint64_t kib = 0; word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}

void Run(double duration_s) {
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  Simulator::Stop(Seconds(duration_s));
  const double started_s = CpuSeconds();
  Simulator::Run();
  const double cpu_s = CpuSeconds() - started_s;
  std::printf(
      "{\"engine\": \"ns-3\", \"delivered_pkts\": %lu, \"dropped_pkts\": %lu, "
      "\"goodput_mbps\": %.6f, \"sojourn_mean_s\": %.9f, \"cpu_s\": %.9f, "
      "\"peak_rss_bytes\": %lu}\n",
      counts.sent_pkts, counts.dropped_pkts, counts.received_bytes * 8e-6 / duration_s,
      counts.sojourn_s / counts.sent_pkts, cpu_s, PeakRssBytes());
  Simulator::Destroy();
}

// Sender, two routers, receiver; every acknowledgement at once, timeouts of 1 s at least.
void Policing(double duration_s) {
  SetTcp("TcpNewReno", 4'000'000);
  Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                     TypeIdValue(TypeId::LookupByName("ns3::TcpPrrRecovery")));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
  TrafficControlHelper bucket;
  bucket.SetRootQueueDisc("ns3::TbfQueueDisc", "Rate", StringValue("4Mbps"), "PeakRate",
                          StringValue("1Gbps"), "Mtu", UintegerValue(1500), "Burst",
                          UintegerValue(125'000), "MaxSize", StringValue("20p"));
  Network network(4);
  network.Join(0, 1, "10Gbps", Time(0));
  network.Join(1, 2, "1Gbps", MicroSeconds(7500), &bucket);
  const auto last = network.Join(2, 3, "10Gbps", Time(0));
  network.AddFlow(0, 3, last.GetAddress(1), Time(0));
  network.queue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&OnBacklog));
  Simulator::Schedule(NanoSeconds(1), &TraceSender);
  Simulator::Schedule(MilliSeconds(100), &Sample, MilliSeconds(100));
  Run(duration_s);
}

// Sources hang below a router in three tiers, with round-trip times of 34, 234 and 534 ms.
void BufferSizing(double duration_s, uint64_t limit_pkts) {
  constexpr uint32_t kFlows = 60, kSources = 18, kFirstSource = 3;
  SetTcp("TcpNewReno", 8 << 20);
  TrafficControlHelper fifo = Fifo(limit_pkts);
  Network network(kFirstSource + kSources);
  const auto sink = network.Join(1, 0, "100Mbps", MilliSeconds(2));
  network.Join(2, 1, "50Mbps", MilliSeconds(5), &fifo);
  for (uint32_t i = 0; i < 2; ++i) network.Join(3 + i, 2, "100Mbps", MilliSeconds(10));
  for (uint32_t i = 0; i < 4; ++i) network.Join(5 + i, 3 + i / 2, "100Mbps", MilliSeconds(100));
  for (uint32_t i = 0; i < 12; ++i) network.Join(9 + i, 5 + i / 3, "100Mbps", MilliSeconds(150));
  auto start_s = CreateObject<UniformRandomVariable>();
  for (uint32_t flow = 0; flow < kFlows; ++flow) {
    const Time start = Seconds(start_s->GetValue(0, 1));
    network.AddFlow(kFirstSource + flow % kSources, 0, sink.GetAddress(1), start);
  }
  Run(duration_s);
}

void Bulk(double duration_s, uint64_t rate_mbps) {
  constexpr uint64_t kRttMs = 20;
  SetTcp("TcpCubic", 64 << 20);
  // Its HyStart and those of others leave slow start at different instants.
  Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(false));
  TrafficControlHelper fifo = Fifo(rate_mbps * kRttMs * 125 / 1500);
  Network network(4);
  network.Join(0, 1, "10Gbps", Time(0));
  network.Join(1, 2, std::to_string(rate_mbps) + "Mbps", MilliSeconds(kRttMs / 2), &fifo);
  const auto last = network.Join(2, 3, "10Gbps", Time(0));
  network.AddFlow(0, 3, last.GetAddress(1), Time(0));
  Run(duration_s);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](size_t index) { return std::strtod(words.at(index).c_str(), nullptr); };
  if (words.size() >= 3) RngSeedManager::SetRun(uint64_t(number(2)));
  if (words.size() == 3 && words[0] == "policing") {
    Policing(number(1));
  } else if (words.size() == 4 && words[0] == "buffer-sizing") {
    BufferSizing(number(1), uint64_t(number(3)));
  } else if (words.size() == 4 && words[0] == "bulk") {
    Bulk(number(1), uint64_t(number(3)));
  } else {
    std::fprintf(stderr,
                 "usage: tcp_ns3 policing SECONDS SEED\n"
                 "       tcp_ns3 buffer-sizing SECONDS SEED PACKETS\n"
                 "       tcp_ns3 bulk SECONDS SEED MBPS\n");
    return 2;
  }
  return 0;
}
