//! Copies of a message in the memory of several objects. Each writes the receipt if the others have died before they
//! did; nobody does if all of them die at once.

use std::time::Duration;

use thunderhead_sim::{Body, Cloud, DurableObject, Env, Error, ObjectState, methods};

use crate::systems::relay::{BACKOFF, guarded};

const COPY: &str = "COPY";
/// One more than the hosts that a search lets crash in a run, so that crashes of one host at a time do no harm.
const COPIES: u64 = 4;

struct Copy {
    env: Env,
}

/// Adds the objects.
pub fn mount(cloud: &mut Cloud) {
    cloud.durable_object::<Copy>(COPY);
}

/// Returns when every object holds the name of the photo.
pub async fn hand_over(env: &Env, key: &str) -> Result<(), Error> {
    for number in 1..=COPIES {
        let copy = env.durable_object(COPY).get_by_name(&number.to_string());
        let () = copy.call("keep", &(key, number)).await?;
    }
    Ok(())
}

impl DurableObject for Copy {
    const ALARM: bool = false;

    fn new(_: ObjectState, env: Env) -> Copy {
        Copy { env }
    }

    async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
        methods!(self, method, args => keep)
    }
}

impl Copy {
    /// Writes the receipt after a pause. The pauses differ, so that usually the first object has written it when the
    /// others look.
    fn keep(&self, (key, seconds): (String, u64)) -> Result<(), Error> {
        let env = self.env.clone();
        drop(self.env.spawn(async move {
            env.sleep(Duration::from_secs(seconds)).await;
            let mut tries = 1;
            while guarded(&env, &key).await.is_err() {
                env.sleep(BACKOFF.after(tries)).await;
                tries += 1;
            }
        }));
        Ok(())
    }
}
