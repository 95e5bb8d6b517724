//! From a masked shot to a stored frame and its event.

use crate::broker::{Broker, Effect, Shot};
use crate::event::Frame;
use crate::page::shown_address;

use super::settings::RunContext;

/// Takes, stores by content hash and describes a picture; a browser that is gone gives none.
pub async fn take(
    broker: &mut Broker,
    place: &str,
    acted: Option<&Effect>,
    context: &RunContext,
    folder: &std::path::Path,
) -> Option<Frame> {
    let url = broker
        .last()
        .map(|o| shown_address(&o.url))
        .unwrap_or_default();
    let withheld = |why: String| Frame {
        step: place.to_owned(),
        file: None,
        hash: None,
        withheld: Some(why),
        url: url.clone(),
        width: 0,
        height: 0,
        target: None,
        point: None,
        redactions: Vec::new(),
        unsettled: false,
    };
    match broker.shot().await {
        Err(_) => None,
        Ok(Shot::Withheld { why }) => Some(withheld(why)),
        Ok(Shot::Taken {
            png,
            width,
            height,
            redactions,
            unsettled,
        }) => {
            let name = match context.outgoing.write_frame(folder, &png) {
                Ok(name) => name,
                Err(error) => return Some(withheld(error.to_string())),
            };
            Some(Frame {
                step: place.to_owned(),
                file: Some(name.to_string_lossy().into_owned()),
                hash: Some(crate::store::frames::full_hash(&png)),
                withheld: None,
                url: url.clone(),
                width,
                height,
                target: acted
                    .and_then(|a| a.rect)
                    .map(|r| [r.x as i32, r.y as i32, r.width as i32, r.height as i32]),
                point: acted
                    .and_then(|a| a.point)
                    .map(|(x, y)| [x as i32, y as i32]),
                redactions,
                unsettled,
            })
        }
    }
}

/// A masked picture as a model takes it: smaller on the wire than PNG. `None`: it can't be read.
pub fn jpeg(png: &[u8]) -> Option<Vec<u8>> {
    let picture = image::load_from_memory_with_format(png, image::ImageFormat::Png).ok()?;
    let mut out = Vec::new();
    let encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut out, 70);
    picture.to_rgb8().write_with_encoder(encoder).ok()?;
    Some(out)
}
