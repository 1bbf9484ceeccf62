//! What answers pictures in a simulated system: the stand-in, or a network that a program brings along.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thunderhead_sim::ai::{self, Classifier, Label};
use thunderhead_sim::{Body, Cloud, closest};

/// Which model is asked for, as `--model` and scripts spell it.
///
/// ```
/// use thunderhead::model::{Choice, Numbers};
///
/// assert_eq!("resnet50=f32".parse(), Ok(Choice::Resnet50(Numbers::F32)));
/// assert_eq!(Choice::default().to_string(), "stand-in");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The simulator's own, which answers by the bytes alone and needs no weights.
    #[default]
    StandIn,
    /// ResNet-50 on the CPU.
    Resnet50(Numbers),
}

/// How a network computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// Whatever is fastest on this machine.
    #[default]
    Fastest,
    /// In bf16, on a machine that has kernels for it.
    Bf16,
    /// In f32, on the fastest kernels for it.
    F32,
    /// As the inference engine comes, in f32.
    Stock,
}

impl Choice {
    /// Every choice, in the order in which they are listed.
    pub const ALL: [Choice; 5] = [
        Choice::StandIn,
        Choice::Resnet50(Numbers::Fastest),
        Choice::Resnet50(Numbers::Bf16),
        Choice::Resnet50(Numbers::F32),
        Choice::Resnet50(Numbers::Stock),
    ];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Choice::StandIn => "stand-in",
            Choice::Resnet50(Numbers::Fastest) => "resnet50",
            Choice::Resnet50(Numbers::Bf16) => "resnet50=bf16",
            Choice::Resnet50(Numbers::F32) => "resnet50=f32",
            Choice::Resnet50(Numbers::Stock) => "resnet50=stock",
        }
    }

    /// The choice that the full name of a model begins with.
    pub fn of_identity(identity: &str) -> Option<Choice> {
        identity.split(' ').next().unwrap_or_default().parse().ok()
    }

    /// Whether a run with the model `other` is one with this choice: the fastest is any of the network's.
    pub fn includes(self, other: Choice) -> bool {
        let any =
            matches!((self, other), (Choice::Resnet50(Numbers::Fastest), Choice::Resnet50(_)));
        any || self == other
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(name: &str) -> Result<Choice, String> {
        let found = Choice::ALL.into_iter().find(|choice| choice.name() == name);
        found.ok_or_else(|| closest(name, Choice::ALL.map(Choice::name)))
    }
}

/// A model, and the pictures that clients send where it is mounted. A clone shares it, on other threads too.
///
/// ```
/// use thunderhead::model::{Choice, Model, Numbers};
/// use thunderhead::sim::{Body, ai};
///
/// let choice = Choice::Resnet50(Numbers::F32);
/// let blind = Model::new(choice, "without eyes", vec![Body::from("a picture")], |_| Err(ai::Error::service(5004)));
/// let uploads = thunderhead::systems::uploads_with(&blind);
/// assert_eq!(uploads.smallest()[0].request.body.text(), Some("a picture"));
/// ```
#[derive(Clone)]
pub struct Model {
    /// Which it is, as scripts spell it.
    pub choice: Choice,
    /// The choice and what else decides its answers; failure files record it.
    identity: Arc<str>,
    pictures: Arc<[Body]>,
    classify: Option<Classifier>,
}

impl Model {
    /// The simulator's own model, which every cloud has from the beginning.
    pub fn stand_in() -> Model {
        // Few, so that the same bytes come again.
        let pictures = ["one", "two", "three"].map(Body::from).into();
        let choice = Choice::StandIn;
        Model { choice, identity: choice.name().into(), pictures, classify: None }
    }

    /// A model that answers with `classify`: for the same bytes the same, every time. The `details` say what else
    /// decides the answers, as its weights do.
    ///
    /// # Panics
    ///
    /// When there are no pictures to send.
    pub fn new(
        choice: Choice,
        details: &str,
        pictures: Vec<Body>,
        classify: impl Fn(&Body) -> Result<Vec<Label>, ai::Error> + Send + Sync + 'static,
    ) -> Model {
        assert!(!pictures.is_empty(), "a model needs pictures to be sent");
        let (identity, pictures) = (format!("{choice} {details}").into(), pictures.into());
        Model { choice, identity, pictures, classify: Some(Arc::new(classify)) }
    }

    /// Its name in full: two models of the same name give the same answers.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The pictures that clients send. There is at least one.
    pub fn pictures(&self) -> &Arc<[Body]> {
        &self.pictures
    }

    /// Lets the cloud's inference answer with this model.
    pub fn mount(&self, cloud: &mut Cloud) {
        if let Some(classify) = self.classify.clone() {
            cloud.ai(&self.identity, classify);
        }
    }
}

impl Default for Model {
    fn default() -> Model {
        Model::stand_in()
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model({}, {} pictures)", self.choice, self.pictures.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_read_as_it_is_written_and_another_word_is_met_with_the_closest() {
        for choice in Choice::ALL {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        let advice = "resnet5=f32".parse::<Choice>().expect_err("there is none");
        assert!(advice.contains("did you mean `resnet50=f32`?"), "{advice}");
    }

    #[test]
    fn the_fastest_network_is_any_network_and_no_stand_in() {
        let [stand_in, fastest, bf16, f32, _] = Choice::ALL;
        assert!(fastest.includes(bf16) && fastest.includes(fastest) && f32.includes(f32));
        assert!(!bf16.includes(f32) && !fastest.includes(stand_in) && !stand_in.includes(fastest));
    }
}
