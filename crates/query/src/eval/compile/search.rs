//! Calls of search functions to nodes: how distances are measured and which language a text has is decided here.

use super::super::node::Node;
use super::super::scope::Const;
use super::super::search::{
    ScoreNode, Scoring, SearchNode, TermNode, TextNode, VectorNode, as_term, as_vector,
};
use super::super::val::Val;
use super::{Compiled, Compiler};
use crate::ast::{Expr, PathSegment};
use crate::functions::SearchFunction;
use crate::search::{Language, metric_of};

impl Compiler<'_> {
    pub(super) fn search(&mut self, function: SearchFunction, arguments: &[Expr]) -> Compiled<Node> {
        match function {
            SearchFunction::Distance => self.distance(arguments),
            SearchFunction::ContainsAll => self.contains(arguments, true),
            SearchFunction::ContainsAny => self.contains(arguments, false),
            SearchFunction::WordCount => {
                let text = self.text(arguments)?;
                Ok(self.search_node(SearchNode::WordCount(text)))
            }
            SearchFunction::Score => self.score(arguments),
        }
    }

    fn distance(&mut self, arguments: &[Expr]) -> Compiled<Node> {
        let metric = metric_of(arguments, self.parameters, self.environment.setting, |argument| {
            self.member_names(argument)
        });
        let mut nodes = self.exprs(arguments)?.into_iter();
        let mut next = || match nodes.next() {
            Some(Node::Const(value)) => as_vector(&value.get()).map(VectorNode::Constant),
            Some(node) => Some(VectorNode::Read(node)),
            None => None,
        };
        Ok(match (next(), next()) {
            (Some(left), Some(right)) => self.search_node(SearchNode::Distance(metric, [left, right])),
            _ => Node::Const(Const::new(Val::Undefined)),
        })
    }

    fn contains(&mut self, arguments: &[Expr], all: bool) -> Compiled<Node> {
        let text = self.text(arguments)?;
        let mut terms = Vec::new();
        for node in self.exprs(arguments.get(1..).unwrap_or_default())? {
            terms.push(match &node {
                Node::Const(value) => match as_term(&value.get(), text.language) {
                    Some(term) => TermNode::Constant(term),
                    None => return Ok(Node::Const(Const::new(Val::Undefined))),
                },
                _ => TermNode::Read(node),
            });
        }
        Ok(self.search_node(SearchNode::Contains { text, terms, all }))
    }

    /// `_FullTextScore(text, [terms], documents, words, [hits])`
    fn score(&mut self, arguments: &[Expr]) -> Compiled<Node> {
        let text = self.text(arguments)?;
        let nodes = self.exprs(arguments.get(1..).unwrap_or_default())?;
        let constants: Option<Vec<Val<'_>>> = nodes
            .iter()
            .map(|node| match node {
                Node::Const(value) => Some(value.get()),
                _ => None,
            })
            .collect();
        let scoring = match constants {
            None => ScoreNode::Read(nodes),
            Some(values) => match Scoring::of(&values, text.language) {
                Some(scoring) => ScoreNode::Constant(scoring),
                None => return Ok(Node::Const(Const::new(Val::Undefined))),
            },
        };
        Ok(self.search_node(SearchNode::Score(text, scoring)))
    }

    fn text(&mut self, arguments: &[Expr]) -> Compiled<TextNode> {
        let Some(argument) = arguments.first() else {
            return Ok(TextNode {
                text: Node::Const(Const::new(Val::Undefined)),
                language: Language::default(),
            });
        };
        let names = self.member_names(argument).unwrap_or_default();
        let language = self.environment.setting.language_at(&names);
        Ok(TextNode { text: self.expr(argument)?, language })
    }

    /// The names of the members that lead to what an expression is, where it is a path of the document.
    fn member_names(&self, expr: &Expr) -> Option<Vec<String>> {
        let name = |segment: PathSegment| match segment {
            PathSegment::Member(name) => Some(name),
            PathSegment::Index(_) => None,
        };
        self.document_path(expr)?.into_iter().map(name).collect()
    }

    fn search_node(&self, node: SearchNode) -> Node {
        let constant = match &node {
            SearchNode::Distance(_, [VectorNode::Constant(_), VectorNode::Constant(_)]) => true,
            SearchNode::Distance(..) => false,
            SearchNode::Contains { text, terms, .. } => {
                text.text.is_const() && terms.iter().all(|term| matches!(term, TermNode::Constant(_)))
            }
            SearchNode::Score(text, scoring) => {
                text.text.is_const() && matches!(scoring, ScoreNode::Constant(_))
            }
            SearchNode::WordCount(text) => text.text.is_const(),
        };
        self.folded(constant, Node::Search(Box::new(node)))
    }
}
