// What a script finds: `getContext()`, `__`, `console`, `ErrorCodes`, and the errors of the service's engine.
//
// It is called once for each run with the functions of the host, which take and give JSON text, and returns what the
// host calls: how to begin, how to go on, how to end, and how to tell an error. Nothing here is trusted by the host:
// a script can change all of it, and only its own run suffers.
(function (host, configText) {
  'use strict';
  const { parse, stringify } = JSON;
  const { freeze, create, defineProperty, getOwnPropertyDescriptor } = Object;
  const { isArray } = Array;
  const { construct, apply } = Reflect;
  const { toWellFormed } = String.prototype;
  const text = String;
  const config = parse(configText);
  const NativeError = Error;

  // The service's engine takes a number before the message.
  function ScriptError(first, second) {
    const numbered = arguments.length > 1 && typeof first === 'number';
    const message = numbered ? second : first;
    const given = message === undefined ? [] : numbered || typeof second !== 'object' ? [message] : [message, second];
    const error = construct(NativeError, given, new.target || ScriptError);
    if (numbered) {
      defineProperty(error, 'number', { value: first, writable: true, configurable: true, enumerable: false });
    }
    return error;
  }
  ScriptError.prototype = NativeError.prototype;
  defineProperty(ScriptError, 'name', { value: 'Error' });
  defineProperty(NativeError.prototype, 'constructor', { value: ScriptError, writable: true, configurable: true });
  for (const name of ['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError']) {
    Object.setPrototypeOf(globalThis[name], ScriptError);
  }
  defineGlobal('Error', ScriptError);

  function defineGlobal(name, value) {
    defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }

  function fail(number, message, body) {
    const error = new ScriptError(number, message);
    if (body !== undefined) error.body = body;
    return error;
  }

  // An error as the host tells it. Whatever was thrown, it has a text.
  function describe(thrown) {
    try {
      if (thrown !== null && typeof thrown === 'object' && typeof thrown.message === 'string') {
        const name = typeof thrown.name === 'string' ? thrown.name : 'Error';
        const number = typeof thrown.number === 'number' ? thrown.number : undefined;
        const stack = typeof thrown.stack === 'string' ? thrown.stack : '';
        const title = thrown.message === '' ? name : name + ': ' + thrown.message;
        return stringify({ title: limited(title), number, stack: limited(stack) });
      }
      const title = typeof thrown === 'object' && thrown !== null ? stringify(thrown) : text(thrown);
      return stringify({ title: limited(title) });
    } catch (_) {
      return '{"title":"an error that cannot be told"}';
    }
  }

  // The host takes no half of a surrogate pair, whether the script had it or the cut makes it.
  function limited(title) {
    const most = 65536;
    if (title === undefined) return 'undefined';
    return apply(toWellFormed, title.length > most ? title.slice(0, most) : title, []);
  }

  // Calls of the store wait until the function has returned, and then go one after another.
  const queue = [];
  let next = 0;

  function enqueue(operation, payload, callback, deliver) {
    if (!host.accepts(payload.length)) return false;
    queue.push({ operation, payload, callback, deliver });
    return true;
  }

  function step() {
    if (next >= queue.length) return false;
    const { operation, payload, callback, deliver } = queue[next];
    queue[next] = undefined;
    next += 1;
    const answer = parse(host.call(operation, payload));
    let error;
    if (answer.error !== undefined) {
      error = fail(answer.error, answer.body, answer.body);
      if (callback === undefined) throw error;
    }
    deliver(error, answer, callback);
    return true;
  }

  function information(answer) {
    return {
      statusCode: answer.error === undefined ? answer.status : answer.error,
      continuation: answer.continuation,
      notModified: answer.status === 304,
      currentCollectionSizeInMB: config.usage,
      maxCollectionSizeInMB: config.quota,
    };
  }

  function deliverResource(error, answer, callback) {
    if (callback === undefined) return;
    const body = error === undefined && answer.status !== 304 ? answer.body : undefined;
    callback(error, body, information(answer));
  }

  function deliverNothing(error, answer, callback) {
    if (callback !== undefined) callback(error, information(answer));
  }

  function needs(name, least, given) {
    if (given >= least) return;
    throw fail(400, `The function "${name}" requires at least ${least} argument(s) but was called with ${given} argument(s).`);
  }

  // The options and the callback, either of which may be left out.
  function tail(options, callback) {
    if (typeof options === 'function' && callback === undefined) return { options: {}, callback: options };
    if (options !== undefined && typeof options !== 'object') throw mistyped('options', 'object', options);
    if (callback !== undefined && callback !== null && typeof callback !== 'function') {
      throw mistyped('callback', 'function', callback);
    }
    return { options: options || {}, callback: callback || undefined };
  }

  function mistyped(name, expected, value) {
    return fail(400, `The "${name}" parameter must be of type "${expected}". Actual type is: "${typeof value}".`);
  }

  const COLLECTION_LINK = /^\/?dbs\/[^/]+\/colls\/[^/]+\/?$/;
  const DOCUMENT_LINK = /^dbs\/[^/]+\/colls\/[^/]+\/docs\/([^/]+)\/?$/;
  const test = RegExp.prototype.test;
  const exec = RegExp.prototype.exec;

  function outside(link) {
    return fail(400, `Function is not allowed to operate on resources outside current collection. Make sure that the link provided, "${link}", belongs to current collection.`);
  }

  function checkCollection(link) {
    if (link === config.selfLink || link === config.altLink) return;
    const shown = limited(text(link));
    if (typeof link !== 'string' || !apply(test, COLLECTION_LINK, [link])) {
      throw fail(400, `Invalid collection link: "${shown}".`);
    }
    throw outside(shown);
  }

  // The name of the document that a link leads to.
  function documentOf(link) {
    const found = typeof link === 'string' ? apply(exec, DOCUMENT_LINK, [link]) : null;
    const shown = limited(text(link));
    if (found === null) throw fail(400, `Invalid document link: "${shown}".`);
    if (!link.startsWith(config.selfLink) && !link.startsWith(config.altLink + '/')) throw outside(shown);
    return found[1];
  }

  // A document as JSON text; with an id of its own if it has none and one may be made.
  function documentText(body, makesId) {
    let document = body;
    if (typeof body === 'string') {
      try {
        document = parse(body);
      } catch (_) {
        document = undefined;
      }
    }
    if (typeof document !== 'object' || document === null || isArray(document)) {
      throw fail(400, 'The document body must be an object or a string representing a JSON-serialized object.');
    }
    if (makesId && !document.id) document = { ...document, id: host.uuid() };
    const written = stringify(document);
    if (typeof written !== 'string') {
      throw fail(400, 'The document body must be an object or a string representing a JSON-serialized object.');
    }
    return written;
  }

  function indexed(options) {
    const action = options.indexAction;
    if (action === undefined || action === null) return true;
    const lower = text(action).toLowerCase();
    if (lower !== 'default' && lower !== 'include' && lower !== 'exclude') {
      throw fail(400, `The "indexAction" option is not valid: "${limited(text(action))}".`);
    }
    return lower !== 'exclude';
  }

  function optionText(value) {
    return value === undefined || value === null ? undefined : text(value);
  }

  function pageOptions(options) {
    const size = options.pageSize;
    if (size !== undefined && size !== null && (typeof size !== 'number' || !(size === -1 || size >= 1))) {
      throw fail(400, `The "pageSize" option is not valid: "${limited(text(size))}".`);
    }
    return { pageSize: size === undefined || size === null ? 100 : Math.floor(size), continuation: optionText(options.continuation) };
  }

  const collection = {
    getSelfLink() {
      return config.selfLink;
    },
    getAltLink() {
      return config.altLink;
    },
    createDocument(link, body, options, callback) {
      needs('createDocument', 2, arguments.length);
      const rest = tail(options, callback);
      checkCollection(link);
      const document = documentText(body, !rest.options.disableAutomaticIdGeneration);
      const payload = stringify({ document, indexed: indexed(rest.options) });
      return enqueue('create', payload, rest.callback, deliverResource);
    },
    upsertDocument(link, body, options, callback) {
      needs('upsertDocument', 2, arguments.length);
      const rest = tail(options, callback);
      checkCollection(link);
      const document = documentText(body, !rest.options.disableAutomaticIdGeneration);
      const payload = stringify({ document, indexed: indexed(rest.options), etag: optionText(rest.options.etag) });
      return enqueue('upsert', payload, rest.callback, deliverResource);
    },
    readDocument(link, options, callback) {
      needs('readDocument', 1, arguments.length);
      const rest = tail(options, callback);
      const payload = stringify({ name: documentOf(link), etag: optionText(rest.options.ifNoneMatch) });
      return enqueue('read', payload, rest.callback, deliverResource);
    },
    readDocuments(link, options, callback) {
      needs('readDocuments', 1, arguments.length);
      const rest = tail(options, callback);
      checkCollection(link);
      return enqueue('query', stringify(pageOptions(rest.options)), rest.callback, deliverResource);
    },
    queryDocuments(link, query, options, callback) {
      needs('queryDocuments', 2, arguments.length);
      const rest = tail(options, callback);
      checkCollection(link);
      const spec = typeof query === 'string' ? { query } : query;
      if (typeof spec !== 'object' || spec === null || typeof spec.query !== 'string') {
        throw fail(400, 'The query must be a string or an object with the text "query" and the array "parameters".');
      }
      const payload = stringify({ spec: { query: spec.query, parameters: spec.parameters || [] }, ...pageOptions(rest.options) });
      return enqueue('query', payload, rest.callback, deliverResource);
    },
    replaceDocument(link, body, options, callback) {
      needs('replaceDocument', 2, arguments.length);
      const rest = tail(options, callback);
      const name = documentOf(link);
      const payload = stringify({ name, document: documentText(body, false), indexed: indexed(rest.options), etag: optionText(rest.options.etag) });
      return enqueue('replace', payload, rest.callback, deliverResource);
    },
    deleteDocument(link, options, callback) {
      needs('deleteDocument', 1, arguments.length);
      const rest = tail(options, callback);
      const payload = stringify({ name: documentOf(link), etag: optionText(rest.options.etag) });
      return enqueue('delete', payload, rest.callback, deliverNothing);
    },
  };
  for (const name of ['readAttachment', 'readAttachments', 'queryAttachments', 'createAttachment', 'upsertAttachment', 'replaceAttachment', 'deleteAttachment']) {
    collection[name] = function () {
      throw fail(400, `The function "${name}" is not available: containers of this account have no attachments.`);
    };
  }

  // The functions of the query interface: each turns a list into a list.
  const RANKS = { undefined: 0, boolean: 2, number: 3, string: 4 };

  function rank(value) {
    return value === null ? 1 : isArray(value) ? 5 : typeof value === 'object' ? 6 : RANKS[typeof value];
  }

  function compare(a, b) {
    const [left, right] = [rank(a), rank(b)];
    if (left !== right) return left - right;
    if (left >= 5) return 0;
    return a < b ? -1 : a > b ? 1 : 0;
  }

  function sorted(list, key, sign) {
    return list.map((item) => [key(item), item]).sort((a, b) => sign * compare(a[0], b[0])).map((pair) => pair[1]);
  }

  function flattened(list, shallow, into) {
    for (const item of list) {
      if (!isArray(item)) into.push(item);
      else if (shallow) into.push(...item);
      else flattened(item, false, into);
    }
    return into;
  }

  function checkFunction(name, value, parameters) {
    if (typeof value !== 'function') throw mistyped(name, 'function', value);
    if (parameters !== undefined && value.length !== parameters) {
      throw fail(400, `The "${name}" function must have ${parameters} parameter(s).`);
    }
    return value;
  }

  // By name: how many arguments of their own they have, and the step they make of these.
  const STEPS = {
    filter(given) {
      const predicate = checkFunction('predicate', given[0]);
      return { taken: 1, run: (list) => list.filter((item) => predicate(item)) };
    },
    map(given) {
      const change = checkFunction('transformation', given[0]);
      return { taken: 1, run: (list) => list.map((item) => change(item)) };
    },
    pluck(given) {
      if (typeof given[0] !== 'string') throw mistyped('propertyName', 'string', given[0]);
      return { taken: 1, run: (list) => list.map((item) => (item === null || item === undefined ? undefined : item[given[0]])) };
    },
    flatten(given) {
      const shallow = given[0] === true;
      return { taken: typeof given[0] === 'boolean' ? 1 : 0, run: (list) => flattened(list, shallow, []) };
    },
    unwind(given) {
      const inner = checkFunction('innerCollectionSelector', given[0], 1);
      const result = typeof given[1] === 'function' && given[1].length === 2 ? given[1] : undefined;
      const pairs = (item) => {
        const found = inner(item);
        return isArray(found) ? found.map((one) => (result ? result(item, one) : one)) : [];
      };
      return { taken: result ? 2 : 1, run: (list) => flattened(list.map(pairs), true, []) };
    },
    sortBy(given) {
      const key = checkFunction('predicate', given[0]);
      return { taken: 1, whole: true, run: (list) => sorted(list, key, 1) };
    },
    sortByDescending(given) {
      const key = checkFunction('predicate', given[0]);
      return { taken: 1, whole: true, run: (list) => sorted(list, key, -1) };
    },
  };

  function runSteps(steps, options, callback) {
    const rest = tail(options, callback);
    if (rest.callback === undefined && config.kind === 'pre') {
      throw fail(400, 'A query without a callback appends to the response, and a pre-trigger has none.');
    }
    const page = pageOptions(rest.options);
    // What is sorted is read to its end, and its pages are counted.
    const whole = steps.some((one) => one.whole);
    const asked = whole ? { pageSize: -1 } : page;
    const isAccepted = enqueue('query', stringify(asked), rest.callback, (error, answer, deliver) => {
      const about = information(answer);
      let feed;
      if (error === undefined) {
        feed = steps.reduce((list, one) => one.run(list), answer.body).filter((item) => item !== undefined);
        if (whole) {
          const from = Number(page.continuation) || 0;
          const until = page.pageSize === -1 ? feed.length : from + page.pageSize;
          about.continuation = until < feed.length ? text(until) : undefined;
          feed = feed.slice(from, until);
        }
      }
      if (deliver !== undefined) deliver(error, feed, about);
      else response.appendBody(stringify(feed));
    });
    return { isAccepted };
  }

  function withoutCollection(given) {
    return given[0] === collection || given[0] === underscored ? given.slice(1) : given;
  }

  for (const name of Object.keys(STEPS)) {
    collection[name] = function (...all) {
      const given = withoutCollection(all);
      const made = STEPS[name](given);
      return runSteps([made], given[made.taken], given[made.taken + 1]);
    };
  }
  collection.chain = function () {
    const steps = [];
    const chained = { isAccepted: true };
    for (const name of Object.keys(STEPS)) {
      chained[name] = function (...all) {
        const given = withoutCollection(all);
        const made = STEPS[name](given);
        if (given.length > made.taken) {
          throw fail(400, `In a chain, "${name}" takes neither options nor a callback: give them to "value".`);
        }
        steps.push(made);
        return chained;
      };
    }
    chained.value = (options, callback) => runSteps(steps, options, callback);
    return chained;
  };

  // The functions of space: the store computes them as a query does. Unlike its other calls, they answer at once.
  function spatial(name, least) {
    return (...given) => {
      needs(name, least, given.length);
      for (let nth = 0; nth < least; nth += 1) {
        if (typeof given[nth] !== 'object' || given[nth] === null) throw mistyped('geometry', 'object', given[nth]);
      }
      const answer = parse(host.spatial(name, stringify(given.slice(0, least))));
      if (answer.error !== undefined) throw fail(answer.error, answer.body, answer.body);
      return answer.body;
    };
  }
  collection.spatial = {
    distance: spatial('distance', 2),
    intersects: spatial('intersects', 2),
    within: spatial('within', 2),
    isValid: spatial('isValid', 1),
    isValidDetailed: spatial('isValidDetailed', 1),
  };

  // Messages: values by name, some of which can be set.
  const MOST_BODY = config.mostBody;

  function tooLarge(name) {
    return fail(413, `Resulting message would be too large because of "${name}". Return from script with current message and use continuation token to call the script again or modify your script.`);
  }

  function message(values, writable) {
    const made = {
      getValue(name) {
        if (getOwnPropertyDescriptor(values, name) === undefined) throw new TypeError(`Unknown property: ${limited(text(name))}`);
        return values[name]();
      },
      setValue(name, value) {
        if (getOwnPropertyDescriptor(values, name) === undefined) throw fail(400, `Cannot set new values: ${limited(text(name))}`);
        if (name !== 'Body' || writable === undefined) throw fail(403, `Not a writable property: ${name}`);
        writable(value);
      },
      appendValue(name, value) {
        const now = made.getValue(name);
        made.setValue(name, now + value);
      },
    };
    for (const name of Object.keys(values)) {
      made['get' + name] = () => made.getValue(name);
      made['set' + name] = (value) => made.setValue(name, value);
      made['append' + name] = (value) => made.appendValue(name, value);
    }
    return made;
  }

  // A body of which copies are given out.
  function resourceBody(initial) {
    let written = initial;
    const read = () => (written === undefined ? undefined : parse(written));
    const write = (value) => {
      const next = typeof value === 'string' ? value : stringify(value);
      if (next === undefined) throw fail(400, 'The body must be an object or a string representing a JSON-serialized object.');
      try {
        parse(next);
      } catch (_) {
        throw fail(400, 'The body must be an object or a string representing a JSON-serialized object.');
      }
      if (next.length > MOST_BODY) throw tooLarge('Body');
      written = next;
    };
    return { read, write, text: () => written };
  }

  // A body that is any value.
  function valueBody() {
    let body = '';
    const write = (value) => {
      const length = typeof value === 'string' ? value.length : (stringify(value) || '').length;
      if (length > MOST_BODY) throw tooLarge('Body');
      body = value;
    };
    // What was set may have changed since.
    const written = () => {
      const whole = stringify(body);
      if (whole !== undefined && whole.length > MOST_BODY + 2) throw tooLarge('Body');
      return whole;
    };
    return { read: () => body, write, text: written };
  }

  const isTrigger = config.kind === 'pre' || config.kind === 'post';
  const requestBody = resourceBody(config.request ?? undefined);
  const responseBody = config.kind === 'post' ? resourceBody(config.response ?? undefined) : valueBody();
  const requestValues = { Body: requestBody.read };
  if (isTrigger) requestValues.OperationType = () => config.operation;
  const request = message(requestValues, config.kind === 'pre' ? requestBody.write : undefined);
  const responseValues = { Body: responseBody.read };
  if (config.kind === 'post') {
    responseValues.ResourceQuotaCurrentUsage = () => config.usage;
    responseValues.MaxResourceQuota = () => config.quota;
  }
  const response = message(responseValues, responseBody.write);

  const context = {
    getCollection: () => collection,
    getRequest: () => request,
    abort(error) {
      host.abort(describe(error));
    },
  };
  if (config.kind !== 'pre') context.getResponse = () => response;

  const underscored = create(collection, {
    request: { value: request, enumerable: true },
    response: { value: config.kind === 'pre' ? undefined : response, enumerable: true },
  });

  const MOST_LOG = config.mostLog;
  let logged = '';

  function format(given) {
    if (given.length === 0) throw fail(400, 'The function "log" requires at least 1 argument(s) but was called with 0 argument(s).');
    if (given.length === 1) return typeof given[0] === 'object' ? text(stringify(given[0])) : text(given[0]);
    if (typeof given[0] !== 'string') throw mistyped('format', 'string', given[0]);
    let used = 1;
    const filled = given[0].replace(/%[s%]/g, (mark) => (mark === '%%' ? '%' : used < given.length ? text(given[used++]) : mark));
    return filled;
  }

  const console = {
    log(...given) {
      if (!config.logging) return;
      const line = format(given);
      if (logged.length + line.length > MOST_LOG) throw fail(413, 'The output of the script is too large for the log.');
      logged += line;
    },
  };

  if (config.kind !== 'function') {
    defineGlobal('getContext', () => context);
    defineGlobal('__', underscored);
    defineGlobal('console', console);
    defineGlobal('ErrorCodes', freeze({
      BadRequest: 400,
      Forbidden: 403,
      NotFound: 404,
      Conflict: 409,
      PreconditionFailed: 412,
      RequestEntityTooLarge: 413,
      RetryWith: 449,
      InternalServerError: 500,
    }));
  }

  return {
    describe,
    step,
    start: (main, given) => main(given === undefined ? [] : parse(given)),
    // Calls a function with JSON arguments, each in an array that is empty if it is undefined; an undefined result is none.
    compute(main, given) {
      const values = parse(given);
      for (let nth = 0; nth < values.length; nth += 1) values[nth] = values[nth].length === 0 ? undefined : values[nth][0];
      return stringify(main(values));
    },
    request: () => requestBody.text(),
    response: () => responseBody.text(),
    logged: () => apply(toWellFormed, logged, []),
  };
})
