//! Calls of objects with values instead of bytes: JSON goes there and back.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::durable_object::Stub;
use crate::protocol::outcome::Error;
use crate::values::body::Body;

impl Stub {
    /// Calls a method with a value and reads the value that it answers with. A reply that is not such a
    /// value is an [`Error::NotJson`].
    ///
    /// `()` is sent as an empty body, and an empty reply reads as `()`.
    ///
    /// ```
    /// use std::cell::Cell;
    ///
    /// use serde::{Deserialize, Serialize};
    /// use thunderhead_sim::*;
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Deposit {
    ///     amount: u32,
    /// }
    ///
    /// #[derive(Default)]
    /// struct Account(Cell<u32>);
    ///
    /// impl Account {
    ///     fn deposit(&self, deposit: Deposit) -> Result<u32, Error> {
    ///         self.0.set(self.0.get() + deposit.amount);
    ///         Ok(self.0.get())
    ///     }
    ///
    ///     async fn balance(&self, (): ()) -> Result<u32, Error> {
    ///         Ok(self.0.get())
    ///     }
    /// }
    ///
    /// impl DurableObject for Account {
    ///     async fn rpc(&self, method: &str, args: Body) -> Result<Body, Error> {
    ///         methods!(self, method, args => deposit, async balance)
    ///     }
    /// }
    ///
    /// let run = simulate(&Scenario::default(), &Source::Tape(Tape::benign()), &|cloud| {
    ///     cloud.durable_object_with("ACCOUNT", |_ctx, _env| Account::default());
    ///     cloud.client("ann", |env| async move {
    ///         let account = env.durable_object("ACCOUNT").get_by_name("ann");
    ///         let balance: u32 = account.call("deposit", &Deposit { amount: 5 }).await.unwrap();
    ///         assert_eq!(balance, 5);
    ///         let wrong: Result<String, Error> = account.call("balance", &()).await;
    ///         assert!(matches!(wrong, Err(Error::NotJson(_))));
    ///     });
    /// })
    /// .unwrap();
    /// assert_eq!(run.end, End::Quiet);
    /// ```
    pub async fn call<A: Serialize + ?Sized, R: DeserializeOwned>(
        &self,
        method: &str,
        args: &A,
    ) -> Result<R, Error> {
        let reply = self.rpc(method, write(args)).await?;
        Ok(read(&reply)?)
    }
}

/// A value as the argument or the reply of a method: nothing is sent for nothing.
#[doc(hidden)]
pub fn write<T: Serialize + ?Sized>(value: &T) -> Body {
    let body = Body::json(value);
    if body.bytes() == b"null" { Body::empty() } else { body }
}

/// Reads what [`write`] has written.
#[doc(hidden)]
pub fn read<T: DeserializeOwned>(body: &Body) -> Result<T, crate::values::body::NotJson> {
    if body.is_empty() { Body::from("null").parse() } else { body.parse() }
}

/// Dispatches a call of an object to its methods: reads the arguments as what the method takes, and writes
/// what it returns.
///
/// `methods!(self, method, args => deposit, "getBalance" => balance, async pay)`: a method is called by its
/// own name, or by one that is given. Each is a `fn(&self, Args) -> Result<Reply, Error>`, or an `async fn` of
/// that kind; `()` stands for no arguments or no reply. An unknown method is [`Error::no_method`]. [`Stub::call`] shows
/// a whole object.
#[macro_export]
macro_rules! methods {
    (@name $name:literal $function:ident) => { $name };
    (@name $function:ident) => { stringify!($function) };
    (@call $object:ident $args:ident async $function:ident) => {
        $object.$function($crate::typed_call::read(&$args)?).await?
    };
    (@call $object:ident $args:ident $function:ident) => {
        $object.$function($crate::typed_call::read(&$args)?)?
    };
    (@arms $object:ident $method:ident $args:ident { $($arms:tt)* }) => {
        match $method {
            $($arms)*
            unknown => Err($crate::Error::no_method(unknown)),
        }
    };
    (@arms $object:ident $method:ident $args:ident { $($arms:tt)* }
        $($name:literal =>)? async $function:ident $(, $($rest:tt)*)?) => {
        $crate::methods!(@arms $object $method $args { $($arms)*
            called if called == $crate::methods!(@name $($name)? $function) => {
                Ok($crate::typed_call::write(&$crate::methods!(@call $object $args async $function)))
            }
        } $($($rest)*)?)
    };
    (@arms $object:ident $method:ident $args:ident { $($arms:tt)* }
        $($name:literal =>)? $function:ident $(, $($rest:tt)*)?) => {
        $crate::methods!(@arms $object $method $args { $($arms)*
            called if called == $crate::methods!(@name $($name)? $function) => {
                Ok($crate::typed_call::write(&$crate::methods!(@call $object $args $function)))
            }
        } $($($rest)*)?)
    };
    ($object:ident, $method:ident, $args:ident => $($methods:tt)+) => {
        $crate::methods!(@arms $object $method $args {} $($methods)+)
    };
}
