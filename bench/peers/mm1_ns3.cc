// M/M/1 on ns-3's bare point-to-point device: no sockets, no IP, packets go straight into the
// device's drop-tail queue and are taken at the far end of the wire.
//
//   mm1_ns3 PACKETS SEED     prints one line of JSON, as the other peers do

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <fstream>
#include <string>

using namespace ns3;

namespace {

constexpr double kArrivalsPerS = 220;
constexpr double kMeanSizeBytes = 512;
constexpr uint32_t kPppHeaderBytes = 2;  // the device adds it; the drawn size includes it

class BareLink {
 public:
  BareLink() {
    nodes_.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("1Mbps"));
    link.SetDeviceAttribute("Mtu", UintegerValue(65535));
    link.SetChannelAttribute("Delay", StringValue("0s"));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("4294967295p"));
    NetDeviceContainer ends = link.Install(nodes_);
    sender_ = ends.Get(0);
    ends.Get(1)->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&BareLink::Arrived, this));
    ends.Get(1)->SetReceiveCallback(MakeCallback(&BareLink::Discard));
    gap_ = Exponential(1 / kArrivalsPerS);
    size_ = Exponential(kMeanSizeBytes);
  }

  void Start() { Simulator::Schedule(Seconds(gap_->GetValue()), &BareLink::Send, this); }

  uint64_t packets() const { return packets_; }
  double mean_sojourn_s() const { return total_s_ / packets_; }

 private:
  static Ptr<ExponentialRandomVariable> Exponential(double mean) {
    auto law = CreateObject<ExponentialRandomVariable>();
    law->SetAttribute("Mean", DoubleValue(mean));
    return law;
  }

  static bool Discard(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&) { return true; }

  void Send() {
    const auto wire_bytes = static_cast<uint32_t>(std::lround(size_->GetValue()));
    const uint32_t payload_bytes = std::max(wire_bytes, kPppHeaderBytes) - kPppHeaderBytes;
    sent_.push_back(Simulator::Now());
    sender_->Send(Create<Packet>(payload_bytes), sender_->GetBroadcast(), 0x0800);
    Start();
  }

  // The link keeps the order, so the packet that arrives is the oldest one sent.
  void Arrived(Ptr<const Packet>) {
    total_s_ += (Simulator::Now() - sent_.front()).GetSeconds();
    sent_.pop_front();
    ++packets_;
  }

  NodeContainer nodes_;
  Ptr<NetDevice> sender_;
  Ptr<ExponentialRandomVariable> gap_;
  Ptr<ExponentialRandomVariable> size_;
  std::deque<Time> sent_;
  uint64_t packets_ = 0;
  double total_s_ = 0;
};

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

// The peak resident size. getrusage would give the size of the process that started this one
// when that was larger.
long PeakBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::atol(line.c_str() + 6) * 1024;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: mm1_ns3 PACKETS SEED\n");
    return 2;
  }
  const double packets = std::atof(argv[1]);
  RngSeedManager::SetSeed(std::atoi(argv[2]));
  const double started_s = CpuSeconds();
  {
    BareLink link;
    link.Start();
    Simulator::Stop(Seconds(packets / kArrivalsPerS));
    Simulator::Run();
    std::printf(
        "{\"engine\": \"ns-3 bare device\", \"packets\": %lu, \"mean_sojourn_s\": %.9f, "
        "\"cpu_s\": %.6f, \"peak_rss_bytes\": %ld}\n",
        static_cast<unsigned long>(link.packets()), link.mean_sojourn_s(),
        CpuSeconds() - started_s, PeakBytes());
  }
  Simulator::Destroy();
  return 0;
}
