//! Which addresses a public name may lead to.
//!
//! A listed name whose owner points it at this machine or its network would open what the list
//! never meant; so would the cloud's metadata address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Globally routable, as far as one can tell without routing. Addresses that carry another one
/// (v4-mapped, NAT64, 6to4) are refused as a whole: no public name needs them.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    let special = v4.is_private()
        || v4.is_loopback()
        || v4.is_link_local()
        || v4.is_multicast()
        || v4.is_broadcast()
        || v4.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19));
    !special
}

fn is_public_v6(v6: Ipv6Addr) -> bool {
    let [a, b, c, ..] = v6.segments();
    // Only 2000::/3 is given out; within it documentation, Teredo and 6to4 are special.
    let global = (a & 0xE000) == 0x2000;
    let special = match a {
        0x2001 => matches!(b, 0 | 0x0db8) || (b == 2 && c == 0),
        0x2002 => true,
        0x3fff => b < 0x1000,
        _ => false,
    };
    global && !special
}
