//! Whatever is written is read as it was, in its order.

use proptest::prelude::*;

use super::super::{
    FrameWriter, Guid, Operation, RequestFrame, RequestHead, Resource, ResponseFrame, Token, TokenType,
    Value, request, response,
};

/// A value that can be kept.
#[derive(Clone, Debug)]
enum Kept {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Guid([u8; 16]),
    Text(String),
    Bytes(Vec<u8>),
}

impl Kept {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Unsigned(number) => Value::Unsigned(*number),
            Self::Signed(number) => Value::Signed(*number),
            Self::Float(number) => Value::Float(*number),
            Self::Guid(bytes) => Value::Guid(Guid::from_text_order(*bytes)),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

fn value(kind: TokenType) -> BoxedStrategy<Kept> {
    match kind {
        TokenType::Byte => any::<u8>().prop_map(|number| Kept::Unsigned(number.into())).boxed(),
        TokenType::UShort => any::<u16>().prop_map(|number| Kept::Unsigned(number.into())).boxed(),
        TokenType::ULong => any::<u32>().prop_map(|number| Kept::Unsigned(number.into())).boxed(),
        TokenType::ULongLong => any::<u64>().prop_map(Kept::Unsigned).boxed(),
        TokenType::Long => any::<i32>().prop_map(|number| Kept::Signed(number.into())).boxed(),
        TokenType::LongLong => any::<i64>().prop_map(Kept::Signed).boxed(),
        TokenType::Guid => any::<[u8; 16]>().prop_map(Kept::Guid).boxed(),
        TokenType::Float => any::<f32>().prop_map(|number| Kept::Float(number.into())).boxed(),
        TokenType::Double => any::<f64>().prop_map(Kept::Float).boxed(),
        TokenType::SmallString => ".{0,60}".prop_map(Kept::Text).boxed(),
        TokenType::String | TokenType::ULongString => ".{0,400}".prop_map(Kept::Text).boxed(),
        TokenType::SmallBytes => proptest::collection::vec(any::<u8>(), 0..256).prop_map(Kept::Bytes).boxed(),
        TokenType::Bytes | TokenType::ULongBytes => {
            proptest::collection::vec(any::<u8>(), 0..400).prop_map(Kept::Bytes).boxed()
        }
    }
}

/// Some of the tokens, each at most once, in any order.
fn fields(all: &'static [Token]) -> impl Strategy<Value = Vec<(&'static Token, Kept)>> {
    let some: Vec<&'static Token> = all.iter().filter(|token| token.name != "PayloadPresent").collect();
    let most = some.len();
    proptest::sample::subsequence(some, 0..=most).prop_shuffle().prop_flat_map(|tokens| {
        tokens
            .into_iter()
            .map(|token| value(token.kind).prop_map(move |kept| (token, kept)))
            .collect::<Vec<_>>()
    })
}

fn same(read: Vec<(&'static Token, Value<'_>)>, written: &[(&'static Token, Kept)]) -> bool {
    let read: Vec<_> = read.into_iter().filter(|(token, _)| token.name != "PayloadPresent").collect();
    read.len() == written.len()
        && read.iter().zip(written).all(|((token, value), (wrote, kept))| {
            token.id == wrote.id
                && (*value == kept.value() || matches!(value, Value::Float(float) if float.is_nan()))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn requests(
        fields in fields(request::ALL),
        (resource, operation) in (0..Resource::ALL.len(), 0..Operation::ALL.len()),
        activity: [u8; 16],
        payload in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..500)),
    ) {
        let (resource, operation) = (Resource::ALL[resource], Operation::ALL[operation]);
        let activity = Guid::from_text_order(activity);
        let mut bytes = Vec::new();
        let head = RequestHead { resource, operation, activity };
        let mut frame = FrameWriter::request(&mut bytes, head, payload.as_deref());
        for (token, kept) in &fields {
            frame.push(token, kept.value()).unwrap();
        }
        frame.finish().unwrap();
        let frame = RequestFrame::parse(&bytes).unwrap();
        prop_assert_eq!((frame.resource, frame.operation, frame.activity), (resource, operation, activity));
        prop_assert_eq!(frame.payload, payload.as_deref());
        prop_assert!(same(frame.tokens().collect(), &fields));
        // Every beginning of it is none.
        for end in 0..bytes.len() {
            prop_assert!(RequestFrame::parse(&bytes[..end]).is_err());
        }
    }

    #[test]
    fn answers(
        fields in fields(response::ALL),
        status in 100u16..600,
        activity: [u8; 16],
        payload in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..500)),
    ) {
        let activity = Guid::from_text_order(activity);
        let mut bytes = Vec::new();
        let mut frame = FrameWriter::response(&mut bytes, status, activity, payload.as_deref());
        for (token, kept) in &fields {
            frame.push(token, kept.value()).unwrap();
        }
        frame.finish().unwrap();
        let frame = ResponseFrame::parse(&bytes).unwrap();
        prop_assert_eq!((frame.status, frame.activity, frame.payload), (status, activity, payload.as_deref()));
        prop_assert!(same(frame.tokens().collect(), &fields));
    }
}
