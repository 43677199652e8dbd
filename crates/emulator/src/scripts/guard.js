// Takes away, or limits, what could keep the host from stopping a script.
//
// The engine asks the host every ten thousand steps whether to go on, but a function of the language counts as one
// step, however long it works. So those that work on much at once ask for themselves (`look`), those that could loop
// over a length that is only claimed refuse it, and those that no limit fits are not there.
(function (look, isProxy) {
  'use strict';
  const { apply, construct, ownKeys } = Reflect;
  const { create, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const { max, min, trunc: whole } = Math;
  const text = String;

  // As many elements as fit into the memory of a script.
  const MOST_ELEMENTS = 1 << 22;
  // So many are worth a look.
  const MANY = 4096;
  // How many characters a search may compare in the worst case.
  const MOST_COMPARED = 2 ** 32;

  function trunc(number) {
    return whole(number) || 0;
  }

  function put(object, name, value) {
    defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
  }

  function wrap(object, name, make) {
    const native = object[name];
    if (typeof native !== 'function') return;
    const made = make(native);
    defineProperty(made, 'name', { value: native.name });
    defineProperty(made, 'length', { value: native.length });
    put(object, name, made);
  }

  // What waits, what computes with numbers of any length, and what compiles text that nobody has looked at.
  for (const name of ['Atomics', 'SharedArrayBuffer', 'Iterator', 'BigInt', 'BigInt64Array', 'BigUint64Array', 'eval']) {
    delete globalThis[name];
  }
  for (const name of ['getBigInt64', 'getBigUint64', 'setBigInt64', 'setBigUint64']) delete DataView.prototype[name];
  const kinds = [function () {}, function* () {}, async function () {}, async function* () {}];
  for (const kind of kinds) {
    const { constructor } = getPrototypeOf(kind);
    const refused = function () {
      throw new TypeError('Code is not made from text here.');
    };
    refused.prototype = constructor.prototype;
    defineProperty(refused, 'name', { value: constructor.name });
    put(constructor.prototype, 'constructor', refused);
    if (constructor.name === 'Function') put(globalThis, 'Function', refused);
  }
  // Functions of iterators that go on without asking.
  const iterators = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));
  for (const name of ownKeys(iterators)) if (name !== Symbol.iterator) delete iterators[name];
  for (const name of ['union', 'intersection', 'difference', 'symmetricDifference', 'isSubsetOf', 'isSupersetOf', 'isDisjointFrom']) {
    delete Set.prototype[name];
  }

  // The length of a list. It is a plain value that does not change between this look and the next.
  function weigh(list) {
    let length = 0;
    if (typeof list === 'string') length = list.length;
    else if (isView(list)) length = list.byteLength;
    else if ((typeof list === 'object' && list !== null) || typeof list === 'function') {
      let found;
      for (let at = list; at !== null && found === undefined; at = getPrototypeOf(at)) {
        if (isProxy(at)) throw new TypeError('A proxy cannot stand for a list here.');
        found = getOwnPropertyDescriptor(at, 'length');
      }
      if (found !== undefined) {
        if (!('value' in found) || (typeof found.value === 'object' && found.value !== null) || typeof found.value === 'function') {
          throw new TypeError('The length of a list must be a number.');
        }
        length = +found.value;
      }
      if (length > MOST_ELEMENTS) throw new RangeError('The list is too long.');
    }
    if (length > MANY) look();
    return length;
  }

  const lists = ['at', 'copyWithin', 'entries', 'fill', 'join', 'keys', 'lastIndexOf', 'reverse', 'shift', 'slice', 'splice',
    'toLocaleString', 'toReversed', 'toSpliced', 'toString', 'unshift', 'values', 'with', 'includes', 'indexOf'];
  for (const name of lists) {
    wrap(Array.prototype, name, (native) => function (...given) {
      weigh(this);
      return apply(native, this, given);
    });
  }
  put(Array.prototype, Symbol.iterator, Array.prototype.values);
  // A long text is compared with one element after another.
  for (const name of ['includes', 'indexOf', 'lastIndexOf']) {
    const isBackward = name === 'lastIndexOf';
    wrap(Array.prototype, name, (guarded) => function (sought, from) {
      if (typeof sought !== 'string' || sought.length <= MANY || this === undefined || this === null) {
        return apply(guarded, this, arguments);
      }
      const list = Object(this);
      const length = trunc(weigh(list));
      const start = arguments.length < 2 ? (isBackward ? length - 1 : 0) : trunc(+from);
      const step = isBackward ? -1 : 1;
      let at = start < 0 ? length + start : start;
      if (isBackward) at = min(at, length - 1);
      else at = max(at, 0);
      for (; at >= 0 && at < length; at += step) {
        const one = list[at];
        if (typeof one !== 'string' || one.length !== sought.length) continue;
        look();
        if (one === sought) return name === 'includes' ? true : at;
      }
      return name === 'includes' ? false : -1;
    });
  }

  // Without an order of its own, a list is sorted by its texts; here in steps.
  function byText(a, b) {
    const left = text(a);
    const right = text(b);
    if (left.length > MANY) look();
    return left < right ? -1 : left > right ? 1 : 0;
  }
  for (const name of ['sort', 'toSorted']) {
    wrap(Array.prototype, name, (native) => function (order) {
      weigh(this);
      return apply(native, this, [order === undefined ? byText : order]);
    });
  }
  wrap(Array.prototype, 'concat', () => function (...others) {
    const all = [];
    for (const one of [this, ...others]) {
      if (!isArray(one)) all[all.length] = one;
      else for (let nth = 0, length = weigh(one); nth < length; nth += 1) all[all.length] = one[nth];
    }
    return all;
  });
  function flatten(list, depth, into) {
    for (let nth = 0, length = weigh(list); nth < length; nth += 1) {
      const item = list[nth];
      if (depth > 0 && isArray(item)) flatten(item, depth - 1, into);
      else if (nth in list) into[into.length] = item;
    }
    return into;
  }
  wrap(Array.prototype, 'flat', () => function (depth) {
    return flatten(this, depth === undefined ? 1 : +depth || 0, []);
  });
  wrap(Array.prototype, 'flatMap', () => function (change, self) {
    return flatten(apply(Array.prototype.map, this, [change, self]), 1, []);
  });

  const bytes = getPrototypeOf(Uint8Array.prototype);
  for (const name of ['copyWithin', 'fill', 'join', 'lastIndexOf', 'reverse', 'set', 'slice', 'sort', 'toReversed', 'toSorted', 'with', 'includes', 'indexOf']) {
    wrap(bytes, name, (native) => function (...given) {
      weigh(this);
      if (name === 'set' && given.length > 0) weigh(given[0]);
      return apply(native, this, given);
    });
  }

  // Sets and maps take the elements of a list one after another, and work through all of a long text for each.
  function weighKey(key) {
    if (typeof key === 'string' && key.length > MANY) look();
    return key;
  }
  function collect(Native, add) {
    const { name } = Native;
    function Guarded(items) {
      if (new.target === undefined) throw new TypeError(`Constructor ${name} requires 'new'`);
      const made = construct(Native, [], new.target);
      if (items !== undefined && items !== null) for (const item of items) add(made, item);
      return made;
    }
    Guarded.prototype = Native.prototype;
    for (const own of ownKeys(Native)) {
      if (own !== 'prototype') defineProperty(Guarded, own, getOwnPropertyDescriptor(Native, own));
    }
    put(Native.prototype, 'constructor', Guarded);
    put(globalThis, name, Guarded);
  }
  const { add } = Set.prototype;
  const { set } = Map.prototype;
  collect(Set, (made, item) => apply(add, made, [weighKey(item)]));
  collect(Map, (made, pair) => {
    if ((typeof pair !== 'object' || pair === null) && typeof pair !== 'function') throw new TypeError('An entry of a map must be an object');
    apply(set, made, [weighKey(pair[0]), pair[1]]);
  });
  for (const [kind, names] of [[Set, ['add', 'has', 'delete']], [Map, ['get', 'set', 'has', 'delete']]]) {
    for (const name of names) {
      wrap(kind.prototype, name, (native) => function (...given) {
        weighKey(given[0]);
        return apply(native, this, given);
      });
    }
  }

  // Searching a text for a long one.
  const dispatch = { split: Symbol.split, replace: Symbol.replace, replaceAll: Symbol.replace };
  for (const name of ['indexOf', 'lastIndexOf', 'includes', 'split', 'replace', 'replaceAll']) {
    wrap(String.prototype, name, (native) => function (search, ...rest) {
      if (this === undefined || this === null) throw new TypeError(`String.prototype.${name} needs a text`);
      const whole = text(this);
      let sought = search;
      if ((typeof search === 'object' && search !== null) || typeof search === 'function') {
        const own = dispatch[name] === undefined ? undefined : search[dispatch[name]];
        if (own !== undefined && own !== null) return apply(own, search, [whole, ...rest]);
        sought = text(search);
      }
      weigh(whole);
      if (typeof sought === 'string' && sought.length * whole.length > MOST_COMPARED) {
        throw new RangeError('The text is too long to be searched for so long a text.');
      }
      return apply(native, whole, arguments.length === 0 ? [] : [sought, ...rest]);
    });
  }
  // Marks that follow each other are put in order one by one, so that a long row of them takes its length squared. No
  // text that is meant to be read has so many.
  const MARKS = /[\p{M}\uff9e\uff9f]{64}/u;
  const { exec } = RegExp.prototype;
  function checkMarks(whole) {
    if (apply(exec, MARKS, [whole]) !== null) throw new RangeError('The text has too many marks in a row.');
    return whole;
  }
  wrap(String.prototype, 'normalize', (native) => function (...given) {
    if (this === undefined || this === null) throw new TypeError('String.prototype.normalize needs a text');
    look();
    return apply(native, checkMarks(text(this)), given);
  });
  wrap(String.prototype, 'localeCompare', (native) => function (other) {
    if (this === undefined || this === null) throw new TypeError('String.prototype.localeCompare needs a text');
    look();
    return apply(native, checkMarks(text(this)), [checkMarks(text(other))]);
  });
  const linear = ['toLowerCase', 'toUpperCase', 'trim', 'trimStart', 'trimEnd', 'toWellFormed', 'isWellFormed', 'slice', 'substring', 'substr', 'concat', 'startsWith', 'endsWith'];
  for (const name of linear) {
    wrap(String.prototype, name, (native) => function (...given) {
      weigh(this);
      return apply(native, this, given);
    });
  }
  for (const name of ['encodeURI', 'encodeURIComponent', 'decodeURI', 'decodeURIComponent', 'escape', 'unescape', 'parseFloat', 'parseInt']) {
    wrap(globalThis, name, (native) => function (...given) {
      weigh(given[0]);
      return apply(native, undefined, given);
    });
  }
  // The same functions by other names.
  for (const name of ['parseFloat', 'parseInt']) put(Number, name, globalThis[name]);
  put(String.prototype, 'trimLeft', String.prototype.trimStart);
  put(String.prototype, 'trimRight', String.prototype.trimEnd);
  for (const name of ['repeat', 'padStart', 'padEnd']) {
    wrap(String.prototype, name, (native) => function (...given) {
      look();
      return apply(native, this, given);
    });
  }

  wrap(String, 'raw', (native) => function (template, ...values) {
    const { raw } = template;
    weigh(raw);
    return apply(native, String, [{ raw }, ...values]);
  });

  // A list of names is sought in every object. Here that is done in steps.
  const boxed = [Boolean, Number, String];
  function picking(list) {
    const names = [];
    for (let nth = 0, length = weigh(list); nth < length; nth += 1) {
      const name = list[nth];
      const isName = typeof name === 'string' || typeof name === 'number' || name instanceof String || name instanceof Number;
      if (isName) names[names.length] = text(name);
    }
    return function (_, value) {
      if (typeof value !== 'object' || value === null || isArray(value)) return value;
      for (let nth = 0; nth < boxed.length; nth += 1) if (value instanceof boxed[nth]) return value;
      const picked = create(null);
      for (let nth = 0; nth < names.length; nth += 1) {
        const member = value[names[nth]];
        if (member !== undefined) picked[names[nth]] = member;
      }
      return picked;
    };
  }
  wrap(JSON, 'stringify', (native) => function (value, replacer, space) {
    look();
    return apply(native, JSON, [value, isArray(replacer) ? picking(replacer) : replacer, space]);
  });
  // What a pattern takes to be compiled is more than its length.
  const MOST_PATTERN = 8192;
  const NativeRegExp = RegExp;
  function checkPattern(pattern) {
    const source = pattern === undefined ? '' : text(pattern);
    if (source.length > MOST_PATTERN) throw new SyntaxError('The regular expression is too long.');
    look();
    return source;
  }
  function isRegExp(value) {
    if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false;
    const marked = value[Symbol.match];
    return marked === undefined ? value instanceof NativeRegExp : !!marked;
  }
  function GuardedRegExp(pattern, flags) {
    const isOne = isRegExp(pattern);
    if (new.target === undefined && isOne && flags === undefined && pattern.constructor === GuardedRegExp) return pattern;
    const given = flags === undefined && isOne ? pattern.flags : flags;
    return construct(NativeRegExp, [checkPattern(isOne ? pattern.source : pattern), given], new.target || GuardedRegExp);
  }
  GuardedRegExp.prototype = NativeRegExp.prototype;
  for (const name of ownKeys(NativeRegExp)) {
    if (name !== 'prototype') defineProperty(GuardedRegExp, name, getOwnPropertyDescriptor(NativeRegExp, name));
  }
  put(NativeRegExp.prototype, 'constructor', GuardedRegExp);
  put(globalThis, 'RegExp', GuardedRegExp);
  wrap(NativeRegExp.prototype, 'compile', (native) => function (pattern, flags) {
    return apply(native, this, pattern instanceof NativeRegExp ? [pattern, flags] : [checkPattern(pattern), flags]);
  });
  // These make a pattern of what is none.
  for (const [name, symbol] of [['match', Symbol.match], ['matchAll', Symbol.matchAll], ['search', Symbol.search]]) {
    wrap(String.prototype, name, (native) => function (pattern) {
      const isOne = typeof pattern === 'object' && pattern !== null && pattern[symbol] !== undefined;
      return apply(native, this, [isOne ? pattern : checkPattern(pattern)]);
    });
  }

  wrap(JSON, 'parse', (native) => function (source, reviver) {
    look();
    return apply(native, JSON, [source, reviver]);
  });
  wrap(Object, 'fromEntries', () => function (entries) {
    const made = {};
    for (const pair of entries) {
      if ((typeof pair !== 'object' || pair === null) && typeof pair !== 'function') throw new TypeError('An entry of an object must be an object');
      const name = weighKey(pair[0]);
      defineProperty(made, name, { value: pair[1], writable: true, configurable: true, enumerable: true });
    }
    return made;
  });
  for (const name of ['assign', 'entries', 'freeze', 'getOwnPropertyDescriptors', 'getOwnPropertyNames', 'isFrozen', 'keys', 'seal', 'values']) {
    wrap(Object, name, (native) => function (...given) {
      look();
      return apply(native, Object, given);
    });
  }
})
