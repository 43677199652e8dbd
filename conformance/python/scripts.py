"""Stored procedures, triggers and user-defined functions: kept, run, and undone when they throw."""

import azure.cosmos.documents as documents

from harness import check, equal, fails, has


def procedure(container, body, name="p"):
    return container.scripts.create_stored_procedure({"id": name, "body": body})


def execute(container, *parameters, **options):
    return container.scripts.execute_stored_procedure("p", partition_key="a", params=list(parameters), **options)


@check
def scripts_are_created_read_replaced_listed_queried_and_deleted(account):
    scripts = account.container().scripts
    made = scripts.create_stored_procedure({"id": "p", "body": "function () {}"})
    equal(scripts.get_stored_procedure("p")["_etag"], made["_etag"])
    scripts.replace_stored_procedure("p", {"id": "p", "body": "function () { return 1; }"})
    equal([one["body"] for one in scripts.list_stored_procedures()], ["function () { return 1; }"])
    equal([one["id"] for one in scripts.query_stored_procedures("SELECT * FROM r WHERE r.id = 'p'")], ["p"])
    with fails(409):
        scripts.create_stored_procedure({"id": "p", "body": "function () {}"})
    scripts.delete_stored_procedure("p")
    with fails(404):
        scripts.get_stored_procedure("p")


@check
def a_procedure_takes_parameters_and_answers(account):
    container = account.container()
    procedure(container, "function (a, b) { getContext().getResponse().setBody([b, a]); }")
    equal(execute(container, 1, {"x": "y"}), [{"x": "y"}, 1])


@check
def a_procedure_that_throws_leaves_nothing(account):
    container = account.container()
    procedure(
        container,
        """function (fails) {
            const c = getContext().getCollection();
            c.createDocument(c.getSelfLink(), {id: '1', pk: 'a'}, (err) => {
                if (err) throw err;
                if (fails) throw new Error(4444, 'own words');
            });
        }""",
    )
    with fails(400, 4444, "own words"):
        execute(container, True)
    with fails(404):
        container.read_item("1", "a")
    execute(container, False)
    equal(container.read_item("1", "a")["id"], "1")


@check
def a_procedure_imports_in_several_calls(account):
    container = account.container()
    procedure(
        container,
        """function (items) {
            const c = __; let count = 0;
            (function next() {
                if (count >= items.length) return __.response.setBody(count);
                const accepted = c.createDocument(c.getSelfLink(), items[count], (err) => {
                    if (err) throw err;
                    count++;
                    next();
                });
                if (!accepted) __.response.setBody(count);
            })();
        }""",
    )
    items = [{"id": str(n), "pk": "a", "n": n} for n in range(500)]
    done = 0
    while done < len(items):
        done += execute(container, items[done:])
    equal(list(container.query_items("SELECT VALUE COUNT(1) FROM c", partition_key="a")), [500])


@check
def what_a_procedure_logs_comes_back(account):
    container = account.container()
    procedure(container, "function () { console.log('The value of %s is %s.', 'x', 1); }")
    execute(container, enable_script_logging=True)
    equal(account.client.client_connection.last_response_headers["x-ms-documentdb-script-log-results"], "The%20value%20of%20x%20is%201.")


@check
def triggers_run_around_a_write(account):
    container = account.container()
    container.scripts.create_trigger({
        "id": "before",
        "body": "function () { var r = getContext().getRequest(), b = r.getBody(); b.id += 't1'; r.setBody(b); }",
        "triggerType": documents.TriggerType.Pre,
        "triggerOperation": documents.TriggerOperation.All,
    })
    container.scripts.create_trigger({
        "id": "after",
        "body": "function () { __.createDocument(__.getSelfLink(), {id: 'audit', pk: 'a'}); }",
        "triggerType": documents.TriggerType.Post,
        "triggerOperation": documents.TriggerOperation.Create,
    })
    made = container.create_item(
        {"id": "1", "pk": "a"}, pre_trigger_include="before", post_trigger_include="after"
    )
    has(made, id="1t1")
    equal(container.read_item("audit", "a")["id"], "audit")
    # The second time the trigger's own document is there already.
    with fails(400):
        container.create_item({"id": "2", "pk": "a"}, post_trigger_include="after")
    with fails(404):
        container.read_item("2", "a")


@check
def queries_call_functions(account):
    container = account.container()
    container.scripts.create_user_defined_function(
        {"id": "tax", "body": "function (n) { return n === undefined ? 0 : n * 2; }"}
    )
    for n in range(6):
        container.create_item({"id": str(n), "pk": "ab"[n % 2], "n": n})
    text = "SELECT VALUE udf.tax(c.n) FROM c WHERE udf.tax(c.n) > 4"
    equal(sorted(container.query_items(text, enable_cross_partition_query=True)), [6, 8, 10])
    equal(list(container.query_items("SELECT VALUE SUM(udf.tax(c.n)) FROM c", partition_key="a")), [12])
    with fails(400):
        list(container.query_items("SELECT VALUE udf.none(1) FROM c", partition_key="a"))
