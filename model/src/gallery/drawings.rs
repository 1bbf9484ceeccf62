//! The list of drawings.

use super::{Drawing, indoors, outdoors};

/// All drawings.
pub const ALL: &[Drawing] = &[
    Drawing { name: "clock", label: "ANALOG CLOCK", paint: indoors::clock },
    Drawing { name: "traffic-light", label: "TRAFFIC LIGHT", paint: outdoors::traffic_light },
    Drawing { name: "crossword", label: "CROSSWORD PUZZLE", paint: indoors::crossword },
    Drawing { name: "digital-clock", label: "DIGITAL CLOCK", paint: indoors::digital_clock },
    Drawing { name: "envelope", label: "ENVELOPE", paint: indoors::envelope },
    Drawing { name: "street-sign", label: "STREET SIGN", paint: outdoors::street_sign },
    Drawing { name: "candle", label: "CANDLE", paint: indoors::candle },
    Drawing { name: "balloon", label: "BALLOON", paint: outdoors::balloon },
    Drawing { name: "spider-web", label: "SPIDER WEB", paint: outdoors::spider_web },
    Drawing { name: "umbrella", label: "UMBRELLA", paint: outdoors::umbrella },
    Drawing { name: "web-site", label: "WEB SITE", paint: indoors::web_site },
    Drawing { name: "maze", label: "MAZE", paint: outdoors::maze },
    Drawing { name: "honeycomb", label: "HONEYCOMB", paint: outdoors::honeycomb },
    Drawing { name: "remote-control", label: "REMOTE CONTROL", paint: indoors::remote_control },
    Drawing { name: "sunglasses", label: "SUNGLASSES", paint: indoors::sunglasses },
    Drawing { name: "hourglass", label: "HOURGLASS", paint: indoors::hourglass },
];
