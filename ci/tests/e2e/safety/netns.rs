//! A network of its own for a thread and all it starts: loopback, and one way out, which leads to us.
//! What leaves is seen packet by packet. It takes root; it ends with the thread and its children.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;

/// The other end of the only way out.
pub struct WayOut(File);

impl WayOut {
    /// Moves the calling thread. `Err` says what this machine doesn't allow.
    pub fn only() -> Result<Self, String> {
        // SAFETY: no memory is involved; only this thread's network changes.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            let why = std::io::Error::last_os_error();
            return Err(format!("no network namespace: {why}"));
        }
        let end = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/net/tun")
            .map_err(|e| format!("/dev/net/tun: {e}"))?;
        // SAFETY: all zeros is a request without a name; its name ends before its end.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(b"out") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the request lives as long as the call.
        if unsafe { libc::ioctl(end.as_raw_fd(), libc::TUNSETIFF as _, &request) } != 0 {
            let why = std::io::Error::last_os_error();
            return Err(format!("no tunnel device: {why}"));
        }
        for words in [
            "link set lo up",
            "addr add 198.18.0.2/15 dev out",
            "addr add fd00:18::2/64 dev out nodad",
            "link set out up",
            "route add default dev out",
            "-6 route add default dev out",
        ] {
            let done = Command::new("ip")
                .args(words.split(' '))
                .output()
                .map_err(|e| format!("ip: {e}"))?;
            if !done.status.success() {
                let why = String::from_utf8_lossy(&done.stderr);
                return Err(format!("ip {words}: {why}"));
            }
        }
        Ok(Self(end))
    }

    /// Protocol and place of each packet that left since the last call.
    pub fn left(&mut self) -> Vec<String> {
        let mut packet = [0; 2048];
        let mut all = Vec::new();
        // Until there is none: the end doesn't block.
        while let Ok(length) = self.0.read(&mut packet) {
            all.extend(told(&packet[..length]));
        }
        all
    }
}

/// `None` for what the kernel says of itself to its neighbours (ICMPv6).
fn told(packet: &[u8]) -> Option<String> {
    let (protocol, to, payload): (u8, IpAddr, usize) = match packet[0] >> 4 {
        4 => {
            let to: [u8; 4] = packet[16..20].try_into().ok()?;
            let header = usize::from(packet[0] & 15) * 4;
            (packet[9], Ipv4Addr::from(to).into(), header)
        }
        _ if matches!(packet[6], 0 | 58) => return None,
        _ => {
            let to: [u8; 16] = packet[24..40].try_into().ok()?;
            (packet[6], Ipv6Addr::from(to).into(), 40)
        }
    };
    let port = packet.get(payload + 2..payload + 4)?;
    let port = u16::from_be_bytes(port.try_into().ok()?);
    Some(match protocol {
        6 => format!("TCP {to} {port}"),
        17 => format!("UDP {to} {port}"),
        other => format!("protocol {other} {to}"),
    })
}
