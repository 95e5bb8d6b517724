//! Pictures with two layers of masks: on the elements, and painted on the image (security.md 2.1).
//!
//! Boxes are read before and after; if they moved the picture is taken again, then withheld. While a
//! secret is in the document there is no picture at all. No raw copy is ever kept.

use futures_util::future::join_all;
use image::{ImageFormat, Rgba, RgbaImage};

use crate::event::Redaction;
use crate::page::pictures::{self, BoxKind, Measured, Moment, SecretBox};

use super::session::Broker;
use super::types::BrokerError;

/// What has to be covered, with the reason.
pub(super) type Boxes = Vec<(SecretBox, String)>;

const FIELD: &str = "password field";
/// Boxes that moved by less are the same boxes.
const MOVED: f64 = 2.0;
/// Around each box, on the image.
const PADDING: i32 = 4;
const TRIES: u32 = 3;

/// A box in image pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Box2 {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
}

/// A picture that may be kept, or why there is none.
#[derive(Debug, Clone)]
pub enum Shot {
    Taken {
        png: Vec<u8>,
        width: u32,
        height: u32,
        redactions: Vec<Redaction>,
        unsettled: bool,
    },
    Withheld {
        why: String,
    },
}

impl Broker {
    /// A picture of the viewport, masked; or the reason why none may be kept.
    pub async fn shot(&mut self) -> Result<Shot, BrokerError> {
        if self.held {
            return Ok(Shot::Withheld {
                why: "a filled secret is still in the document".into(),
            });
        }
        if let Some(shot) = self.early_shot() {
            return Ok(shot);
        }
        let began = tokio::time::Instant::now();
        self.follow().await?;
        let shot = self.masked().await;
        self.spent("picture", began);
        match shot {
            Ok(shot) => Ok(shot),
            Err(BrokerError::Lost(why)) => Err(BrokerError::Lost(why)),
            // No answer means no picture.
            Err(error) => Ok(Shot::Withheld {
                why: error.to_string(),
            }),
        }
    }

    async fn masked(&mut self) -> Result<Shot, BrokerError> {
        #[cfg(feature = "leak-injector")]
        if crate::secrets::inject::plant::asked("pixels") {
            return paint(self.tab.screenshot(None).await?, &[]);
        }
        for attempt in 1..=TRIES {
            if self.last.is_none() || attempt > 1 {
                self.look().await?;
            }
            let (png, before, after) = match self.shoot().await {
                Ok(shot) => shot,
                // The document was replaced in the middle: the picture would be of neither.
                Err(BrokerError::Stale) => {
                    self.watch.arrived(self.limits.navigation).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let (Some(before), Some(after)) = (before, after) else {
                continue;
            };
            if !same_boxes(&before, &after) {
                continue;
            }
            match self.is_all_covered().await {
                Ok(true) => return painted(png, [before, after].concat()).await,
                Ok(false) | Err(BrokerError::Stale) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Shot::Withheld {
            why: "what has to be covered would not hold still".into(),
        })
    }

    /// Whether the page, read again after its picture, shows no more to cover than it did before.
    async fn is_all_covered(&mut self) -> Result<bool, BrokerError> {
        if self.scrubber.is_empty() && self.masks.is_empty() {
            return Ok(true);
        }
        let before = self.to_cover();
        self.look().await?;
        Ok(self.to_cover() <= before)
    }

    /// How many places of the latest read have to be covered.
    pub(super) fn to_cover(&self) -> usize {
        self.marks.iter().map(Vec::len).sum::<usize>() + self.covers.len()
    }

    /// Still and covered with boxes measured, picture, boxes again and let go.
    async fn shoot(&mut self) -> Result<(Vec<u8>, Option<Boxes>, Option<Boxes>), BrokerError> {
        let before = self.boxes(Moment::Before).await;
        let png = match &before {
            Ok(Some(_)) => self.tab.screenshot(None).await,
            _ => Ok(Vec::new()),
        };
        // Whatever came of it: what stands still goes on.
        let after = self.boxes(Moment::After).await;
        Ok((png?, before?, after?))
    }

    /// Boxes to cover, of every document at once; `None` when the page was read again meanwhile.
    pub(super) async fn boxes(&self, moment: Moment) -> Result<Option<Boxes>, BrokerError> {
        let Some(observation) = &self.last else {
            return Ok(None);
        };
        let realm = &self.realm();
        let documents = observation.documents.iter().enumerate();
        let asked = documents.map(|(index, document)| {
            let marks = self.marks.get(index).map(Vec::as_slice).unwrap_or_default();
            let generation = observation.generation;
            let nodes = self.covers.nodes(index);
            async move {
                pictures::measure(realm, &document.context, generation, marks, &nodes, moment).await
            }
        });
        let mut all = Vec::new();
        for (index, answer) in join_all(asked).await.into_iter().enumerate() {
            let Some(Measured { boxes, .. }) = answer? else {
                return Ok(None);
            };
            if boxes.is_empty() {
                continue;
            }
            let Some((dx, dy)) = self.offset_of(index).await? else {
                return Ok(None);
            };
            let mut reasons = self.covers.reasons(index);
            for mut one in boxes {
                one.rect.x += dx;
                one.rect.y += dy;
                let reason = match one.kind {
                    BoxKind::Field => FIELD,
                    BoxKind::Text => "text that holds a registered value",
                    BoxKind::Element => reasons.next().unwrap_or("masked"),
                };
                if one.rect.width <= 0.0 || one.rect.height <= 0.0 {
                    continue;
                }
                all.push((one, reason.to_owned()));
            }
        }
        Ok(Some(all))
    }

    /// Where a document's viewport lies in the top one, now; `None`: its frame is gone.
    async fn offset_of(&self, document: usize) -> Result<Option<(f64, f64)>, BrokerError> {
        let Some(observation) = &self.last else {
            return Ok(None);
        };
        let (mut x, mut y, mut at) = (0.0, 0.0, document);
        while let Some(owner) = observation.documents.get(at).and_then(|d| d.owner) {
            let outer = owner.document as usize;
            let Some(context) = observation.documents.get(outer).map(|d| &d.context) else {
                return Ok(None);
            };
            match pictures::content_offset(&self.realm(), context, owner).await? {
                Some((dx, dy)) => (x, y) = (x + dx, y + dy),
                None => return Ok(None),
            }
            at = outer;
        }
        Ok(Some((x, y)))
    }
}

/// Painting takes the processor: not on the thread that answers the browser.
pub(super) async fn painted(png: Vec<u8>, boxes: Boxes) -> Result<Shot, BrokerError> {
    tokio::task::spawn_blocking(move || paint(png, &boxes))
        .await
        .unwrap_or_else(|_| {
            Ok(Shot::Withheld {
                why: "painting the masks failed".into(),
            })
        })
}

/// Of a page in whose words there is nothing to cover.
pub(super) fn of_field(one: SecretBox) -> (SecretBox, String) {
    (one, FIELD.to_owned())
}

pub(super) fn same_boxes(a: &[(SecretBox, String)], b: &[(SecretBox, String)]) -> bool {
    let near = |x: f64, y: f64| (x - y).abs() <= MOVED;
    a.len() == b.len()
        && a.iter().zip(b).all(|((a, _), (b, _))| {
            near(a.rect.x, b.rect.x)
                && near(a.rect.y, b.rect.y)
                && near(a.rect.width, b.rect.width)
                && near(a.rect.height, b.rect.height)
        })
}

/// Layer 2: solid boxes, of one colour, re-encoded without anything else the browser wrote.
fn paint(png: Vec<u8>, boxes: &[(SecretBox, String)]) -> Result<Shot, BrokerError> {
    let bad =
        |e: image::ImageError| BrokerError::Other(format!("the picture could not be read: {e}"));
    if boxes.is_empty() {
        let (width, height) =
            size(&png).ok_or_else(|| BrokerError::Other("the picture is no PNG".into()))?;
        return Ok(Shot::Taken {
            png,
            width,
            height,
            redactions: Vec::new(),
            unsettled: false,
        });
    }
    let mut picture = image::load_from_memory_with_format(&png, ImageFormat::Png)
        .map_err(bad)?
        .into_rgba8();
    let mut redactions: Vec<Redaction> = Vec::new();
    for (one, reason) in boxes {
        let Some(area) = clip(one, &picture) else {
            continue;
        };
        fill(&mut picture, area);
        let redaction = Redaction {
            rect: [area.x, area.y, area.width, area.height],
            reason: reason.clone(),
        };
        if !redactions.contains(&redaction) {
            redactions.push(redaction);
        }
    }
    let (width, height) = picture.dimensions();
    let mut out = Vec::new();
    let encoder = image::codecs::png::PngEncoder::new_with_quality(
        &mut out,
        image::codecs::png::CompressionType::Fast,
        image::codecs::png::FilterType::Sub,
    );
    picture.write_with_encoder(encoder).map_err(bad)?;
    Ok(Shot::Taken {
        png: out,
        width,
        height,
        redactions,
        unsettled: false,
    })
}

/// Width and height from a PNG's header.
fn size(png: &[u8]) -> Option<(u32, u32)> {
    let at = |i: usize| Some(u32::from_be_bytes(png.get(i..i + 4)?.try_into().ok()?));
    png.starts_with(b"\x89PNG\r\n\x1a\n").then_some(())?;
    Some((at(16)?, at(20)?))
}

fn clip(one: &SecretBox, picture: &RgbaImage) -> Option<Box2> {
    let (width, height) = (picture.width() as i32, picture.height() as i32);
    let left = (one.rect.x.floor() as i32 - PADDING).clamp(0, width);
    let top = (one.rect.y.floor() as i32 - PADDING).clamp(0, height);
    let right = ((one.rect.x + one.rect.width).ceil() as i32 + PADDING).clamp(0, width);
    let bottom = ((one.rect.y + one.rect.height).ceil() as i32 + PADDING).clamp(0, height);
    (right > left && bottom > top).then_some(Box2 {
        x: left,
        y: top,
        width: right - left,
        height: bottom - top,
    })
}

fn fill(picture: &mut RgbaImage, area: Box2) {
    for y in area.y..area.y + area.height {
        for x in area.x..area.x + area.width {
            picture.put_pixel(x as u32, y as u32, Rgba([32, 33, 36, 255]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Rect;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut out = Vec::new();
        RgbaImage::from_pixel(width, height, Rgba([255, 0, 0, 255]))
            .write_to(&mut std::io::Cursor::new(&mut out), ImageFormat::Png)
            .unwrap();
        out
    }

    #[test]
    fn case_088_pixels_under_a_mask_are_one_colour() {
        let one = SecretBox {
            kind: BoxKind::Text,
            rect: Rect {
                x: 10.0,
                y: 10.0,
                width: 20.0,
                height: 8.0,
            },
        };
        let Ok(Shot::Taken {
            png, redactions, ..
        }) = paint(png(64, 64), &[(one, "text".into())])
        else {
            panic!("a picture")
        };
        let picture = image::load_from_memory(&png).unwrap().into_rgba8();
        assert_eq!(redactions[0].rect, [6, 6, 28, 16]);
        let colours: std::collections::BTreeSet<[u8; 4]> = (6..34)
            .flat_map(|x| (6..22).map(move |y| (x, y)))
            .map(|(x, y)| picture.get_pixel(x, y).0)
            .collect();
        assert_eq!(colours.len(), 1);
        assert_eq!(picture.get_pixel(40, 40).0, [255, 0, 0, 255]);
    }

    #[test]
    fn a_mask_off_the_picture_paints_nothing() {
        let one = SecretBox {
            kind: BoxKind::Text,
            rect: Rect {
                x: 900.0,
                y: 10.0,
                width: 20.0,
                height: 8.0,
            },
        };
        let Ok(Shot::Taken { redactions, .. }) = paint(png(64, 64), &[(one, "text".into())]) else {
            panic!("a picture")
        };
        assert!(redactions.is_empty());
    }
}
