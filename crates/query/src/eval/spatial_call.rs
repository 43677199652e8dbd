//! A call of a function of shapes: shapes that are constant are read once, and not for each row.

use std::sync::Arc;

use super::error::EvalError;
use super::node::Node;
use super::scope::Scope;
use super::val::Val;
use crate::functions::{ShapeArgument, SpatialFunction};
use crate::spatial::Surface;

/// The call.
#[derive(Clone, Debug)]
pub(super) struct SpatialCall {
    function: SpatialFunction,
    surface: Surface,
    arguments: Vec<Argument>,
}

#[derive(Clone, Debug)]
enum Argument {
    Known(Arc<ShapeArgument>),
    Computed(Node),
}

impl SpatialCall {
    pub(super) fn new(function: SpatialFunction, surface: Surface, arguments: Vec<Node>) -> SpatialCall {
        let arguments = arguments.into_iter().map(|node| Argument::new(node, surface)).collect();
        SpatialCall { function, surface, arguments }
    }

    pub(super) fn eval<'s>(&'s self, scope: &Scope<'s>) -> Result<Val<'s>, EvalError> {
        let work = |bytes| scope.run.work(bytes);
        let mut read: [Option<ShapeArgument>; 2] = [None, None];
        for (place, argument) in read.iter_mut().zip(&self.arguments) {
            if let Argument::Computed(node) = argument {
                let value = node.eval(scope)?;
                work(value.size())?;
                *place = Some(ShapeArgument::read(&value, self.surface, &work)?);
            }
        }
        let shapes: Vec<&ShapeArgument> = self
            .arguments
            .iter()
            .zip(&read)
            .filter_map(|(argument, read)| match argument {
                Argument::Known(known) => Some(&**known),
                Argument::Computed(_) => read.as_ref(),
            })
            .collect();
        self.function.apply(&shapes, &work)
    }
}

impl Argument {
    /// What takes long to read is left to the run, which can be stopped.
    fn new(node: Node, surface: Surface) -> Argument {
        const MOST_WORK: usize = 1 << 20;
        let Node::Const(value) = &node else { return Argument::Computed(node) };
        let left = std::cell::Cell::new(MOST_WORK);
        let work = |bytes: usize| match left.get().checked_sub(bytes) {
            Some(rest) => {
                left.set(rest);
                Ok(())
            }
            None => Err(EvalError::Interrupted),
        };
        match ShapeArgument::read(&value.get(), surface, &work) {
            Ok(shape) => Argument::Known(Arc::new(shape)),
            Err(_) => Argument::Computed(node),
        }
    }
}
