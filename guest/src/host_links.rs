//! Links, addresses, neighbours and routes of hosts, made over route netlink (rtnetlink(7)): the requests that
//! `ip` sends for the lines of the same values in Python (`dumbbell.spec.host_links`).
//!
//! A program would take some 250 changes between the guest's kernel and its process; the requests of a host
//! take two.

use crate::error::GuestError;
use crate::netlink::{Batch, Request};
use serde::Deserialize;
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWNEIGH: u16 = 28;
const NLM_F_REPLACE: u16 = 0x100;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
/// `VETH_INFO_PEER` (linux/veth.h).
const VETH_PEER: u16 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NUD_PERMANENT: u16 = 0x80;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_METRICS: u16 = 8;
const RTAX_LOCK: u16 = 1;
const RTAX_MTU: u16 = 2;
const RTAX_INITCWND: u16 = 11;
const RTAX_RTO_MIN: u16 = 13;
const RTAX_QUICKACK: u16 = 15;
const RT_TABLE_MAIN: u8 = 254;
/// Routes that an administrator's commands make.
const RTPROT_BOOT: u8 = 3;
const RT_SCOPE_UNIVERSE: u8 = 0;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;
const INET: u8 = libc::AF_INET as u8;

/// A pair of virtual devices in two hosts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VethPair {
    near: VethEnd,
    far: VethEnd,
}

/// An end of such a pair.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VethEnd {
    /// Index of the host.
    host: usize,
    device: String,
    mac: String,
    mtu_bytes: u32,
}

/// Types of devices that need no other parameter.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceType {
    Dummy,
    Ifb,
}

/// Something that is made or set in one host.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum HostLink {
    /// `ip link add`.
    NewDevice { device: String, r#type: DeviceType },
    /// `ip link set ... up`.
    DeviceUp {
        device: String,
        mtu_bytes: Option<u32>,
        gso_max_segs: Option<u32>,
    },
    /// `ip addr add`.
    Address {
        device: String,
        address: Ipv4Addr,
        prefix_bits: u8,
    },
    /// `ip neigh replace ... nud permanent`.
    Neighbour {
        device: String,
        address: Ipv4Addr,
        mac: String,
    },
    /// `ip route replace`.
    Route {
        network: Ipv4Addr,
        prefix_bits: u8,
        device: String,
        via: Option<Ipv4Addr>,
        options: RouteOptions,
    },
}

/// What TCP is told by a route.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteOptions {
    initial_window_pkts: Option<u32>,
    min_rto_ms: Option<u32>,
    quick_ack: Option<bool>,
    mtu_bytes: Option<u32>,
}

/// The names of the devices of each host, in the order of their making: the first is number 2, behind `lo`.
#[derive(Debug)]
pub struct Devices(Vec<Vec<String>>);

impl Devices {
    /// No devices in so many hosts.
    pub fn new(hosts: usize) -> Devices {
        Devices(vec![Vec::new(); hosts])
    }

    /// The number of the next device of a host, which gets this name.
    fn add(&mut self, host: usize, name: &str) -> Result<u32, GuestError> {
        let no_host = || GuestError::Job(format!("no host {host}"));
        let names = self.0.get_mut(host).ok_or_else(no_host)?;
        names.push(name.to_owned());
        Ok(FIRST_DEVICE + names.len() as u32 - 1)
    }

    /// The number of a device.
    pub fn number(&self, host: usize, name: &str) -> Result<u32, GuestError> {
        let names = self.0.get(host).into_iter().flatten();
        let place = names.enumerate().find(|(_, other)| *other == name);
        let missing = || GuestError::Job(format!("no device {name} in host {host}"));
        place
            .map(|(place, _)| FIRST_DEVICE + place as u32)
            .ok_or_else(missing)
    }
}

/// `lo` is number 1 in every network namespace.
const FIRST_DEVICE: u32 = 2;

/// Requests for all pairs, to be sent from a namespace without devices: the kernel would take a request with
/// the name or number of one that is there for a change of it.
pub fn pair_requests(
    pairs: &[VethPair],
    namespaces: &[File],
    devices: &mut Devices,
) -> Result<Batch, GuestError> {
    let mut batch = Batch::default();
    for VethPair { near, far } in pairs {
        let what = format!("making the link of hosts {} and {}", near.host, far.host);
        let mut peer = link_header(devices.add(far.host, &far.device)?, 0);
        let number = devices.add(near.host, &near.device)?;
        // A peer's number is ignored unless this end has one too.
        let mut request = Request::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, what);
        request.header(&link_header(number, 0));
        for (name, value) in end_attributes(near, namespaces)? {
            request.attribute(name, &value);
        }
        for (name, value) in end_attributes(far, namespaces)? {
            peer.extend(crate::netlink::written(name, &value));
        }
        request.nested(IFLA_LINKINFO, |info| {
            info.attribute(IFLA_INFO_KIND, b"veth");
            info.nested(IFLA_INFO_DATA, |data| data.attribute(VETH_PEER, &peer));
        });
        batch.add(request);
    }
    Ok(batch)
}

fn end_attributes(end: &VethEnd, namespaces: &[File]) -> Result<[(u16, Vec<u8>); 4], GuestError> {
    let namespace = namespaces.get(end.host);
    let namespace = namespace.ok_or_else(|| GuestError::Job(format!("no host {}", end.host)))?;
    Ok([
        (IFLA_IFNAME, text(&end.device)),
        (IFLA_ADDRESS, mac(&end.mac)?.to_vec()),
        (IFLA_MTU, end.mtu_bytes.to_ne_bytes().to_vec()),
        (IFLA_NET_NS_FD, namespace.as_raw_fd().to_ne_bytes().to_vec()),
    ])
}

/// Requests for one host, to be sent in its namespace.
pub fn host_requests(
    host: usize,
    links: &[HostLink],
    devices: &mut Devices,
) -> Result<Batch, GuestError> {
    let mut batch = Batch::default();
    for link in links {
        batch.add(host_request(host, link, devices)?);
    }
    Ok(batch)
}

fn host_request(
    host: usize,
    link: &HostLink,
    devices: &mut Devices,
) -> Result<Request, GuestError> {
    Ok(match link {
        HostLink::NewDevice { device, r#type } => {
            let what = format!("making {device} of host {host}");
            let mut request = Request::new(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, what);
            request.header(&link_header(devices.add(host, device)?, 0));
            request.attribute(IFLA_IFNAME, &text(device));
            let kind: &[u8] = match r#type {
                DeviceType::Dummy => b"dummy",
                DeviceType::Ifb => b"ifb",
            };
            request.nested(IFLA_LINKINFO, |info| info.attribute(IFLA_INFO_KIND, kind));
            request
        }
        HostLink::DeviceUp {
            device,
            mtu_bytes,
            gso_max_segs,
        } => {
            let mut request = Request::new(
                RTM_NEWLINK,
                0,
                format!("switching {device} of host {host} on"),
            );
            let up = libc::IFF_UP as u32;
            request.header(&link_header(devices.number(host, device)?, up));
            for (name, value) in [(IFLA_MTU, mtu_bytes), (IFLA_GSO_MAX_SEGS, gso_max_segs)] {
                if let Some(value) = value {
                    request.attribute(name, &value.to_ne_bytes());
                }
            }
            request
        }
        HostLink::Address {
            device,
            address,
            prefix_bits,
        } => {
            let what =
                format!("giving {device} of host {host} the address {address}/{prefix_bits}");
            let mut request = Request::new(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, what);
            // struct ifaddrmsg: family, bits, flags, scope, device.
            request.header(&[INET, *prefix_bits, 0, RT_SCOPE_UNIVERSE]);
            request.header(&devices.number(host, device)?.to_ne_bytes());
            request.attribute(IFA_LOCAL, &address.octets());
            request.attribute(IFA_ADDRESS, &address.octets());
            request
        }
        HostLink::Neighbour {
            device,
            address,
            mac: theirs,
        } => {
            let what = format!("telling {device} of host {host} of its neighbour {address}");
            let mut request = Request::new(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, what);
            // struct ndmsg: family, padding, device, state, flags, type.
            request.header(&[INET, 0, 0, 0]);
            request.header(&devices.number(host, device)?.to_ne_bytes());
            request.header(&NUD_PERMANENT.to_ne_bytes());
            request.header(&[0, 0]);
            request.attribute(NDA_DST, &address.octets());
            request.attribute(NDA_LLADDR, &mac(theirs)?);
            request
        }
        HostLink::Route {
            network,
            prefix_bits,
            device,
            via,
            options,
        } => {
            let what = format!("making the route of host {host} to {network}/{prefix_bits}");
            let mut request = Request::new(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, what);
            let scope = via.map_or(RT_SCOPE_LINK, |_| RT_SCOPE_UNIVERSE);
            // struct rtmsg: family, bits of destination and source, TOS, table, protocol, scope, type, flags.
            request.header(&[INET, *prefix_bits, 0, 0]);
            request.header(&[RT_TABLE_MAIN, RTPROT_BOOT, scope, RTN_UNICAST]);
            request.header(&[0; 4]);
            request.attribute(RTA_DST, &network.octets());
            if let Some(via) = via {
                request.attribute(RTA_GATEWAY, &via.octets());
            }
            request.attribute(RTA_OIF, &devices.number(host, device)?.to_ne_bytes());
            let metrics = metrics(options);
            if !metrics.is_empty() {
                request.nested(RTA_METRICS, |inside| {
                    for (name, value) in &metrics {
                        inside.attribute(*name, &value.to_ne_bytes());
                    }
                });
            }
            request
        }
    })
}

/// The metrics of a route. TCP heeds a least retransmission timeout only if it is locked (`tcp_rto_min`).
fn metrics(options: &RouteOptions) -> Vec<(u16, u32)> {
    let locked = options.min_rto_ms.map(|_| 1 << RTAX_RTO_MIN);
    let all = [
        (RTAX_LOCK, locked),
        (RTAX_INITCWND, options.initial_window_pkts),
        (RTAX_RTO_MIN, options.min_rto_ms),
        (RTAX_QUICKACK, options.quick_ack.map(u32::from)),
        (RTAX_MTU, options.mtu_bytes),
    ];
    let given = all.into_iter();
    given
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// `struct ifinfomsg` of a device, and the flags that are switched on.
fn link_header(number: u32, flags: u32) -> Vec<u8> {
    let numbers = [0, number, flags, flags];
    numbers.iter().flat_map(|n: &u32| n.to_ne_bytes()).collect()
}

fn text(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

fn mac(text: &str) -> Result<[u8; 6], GuestError> {
    let bytes: Option<Vec<u8>> = text
        .split(':')
        .map(|byte| u8::from_str_radix(byte, 16).ok())
        .collect();
    let bytes: Option<[u8; 6]> = bytes.and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| GuestError::Job(format!("{text} is no Ethernet address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_numbered_in_the_order_of_their_making() {
        let mut devices = Devices::new(2);
        assert_eq!(devices.add(0, "eth1").unwrap(), 2);
        assert_eq!(devices.add(1, "eth1").unwrap(), 2);
        assert_eq!(devices.add(0, "eth2").unwrap(), 3);
        assert_eq!(devices.number(0, "eth2").unwrap(), 3);
        assert!(devices.number(1, "eth2").is_err());
        assert!(devices.add(2, "eth1").is_err());
    }

    #[test]
    fn a_least_timeout_is_locked() {
        let options: RouteOptions =
            serde_json::from_str(r#"{"min_rto_ms": 50, "quick_ack": true}"#).unwrap();
        let found = metrics(&options);
        assert_eq!(found, [(1, 1 << 13), (13, 50), (15, 1)]);
    }

    #[test]
    fn an_ethernet_address_has_six_bytes() {
        assert_eq!(mac("02:00:00:00:01:ff").unwrap(), [2, 0, 0, 0, 1, 255]);
        assert!(mac("02:00:00:00:01").is_err());
        assert!(mac("02:00:00:00:01:fff").is_err());
    }

    #[test]
    fn unknown_words_of_a_job_are_refused() {
        let link = r#"{"kind": "device_up", "device": "eth1", "speed": 3}"#;
        assert!(serde_json::from_str::<HostLink>(link).is_err());
        let link = r#"{"kind": "device_up", "device": "eth1", "gso_max_segs": 3}"#;
        assert!(serde_json::from_str::<HostLink>(link).is_ok());
    }
}
