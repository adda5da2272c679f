-- Every call of the seed client except schedules, each with what it must bring.
-- Run by lua5.4 run.lua; the engine's URL and a prefix for ids come through the environment.
local workflow = require("assay.workflow")
local prefix = env.get("ASSAY_TEST_PREFIX")
local function id(name) return prefix .. "-" .. name end

local function equal(got, want, what)
  if got ~= want then
    error(what .. ": got " .. tostring(got) .. ", want " .. tostring(want), 2)
  end
end
local function refused(what, call, ...)
  local ok, message = pcall(call, ...)
  equal(ok, false, what .. " is refused")
  return tostring(message)
end
local function find(list, field, value)
  for _, item in ipairs(list) do
    if item[field] == value then return item end
  end
  error("nothing with " .. field .. " " .. value, 2)
end

workflow.connect(env.get("ASSAY_ENGINE_URL"))

-- start, describe, list
local started = workflow.start({
  workflow_type = "Order", workflow_id = id("a"), input = { amount = 5 }, task_queue = id("q"),
})
equal(started.workflow_id, id("a"), "start: id")
equal(started.status, "PENDING", "start: status")
local record = workflow.describe(id("a"))
equal(record.workflow_type, "Order", "describe: type")
equal(json.parse(record.input).amount, 5, "describe: input is JSON text")
equal(record.task_queue, id("q"), "describe: queue")
refused("a second start", workflow.start, { workflow_type = "Order", workflow_id = id("a") })
refused("describing nothing", workflow.describe, id("nothing"))
local listed = workflow.list({
  namespace = "main", status = "PENDING", type = "Order", limit = 10, offset = 0,
})
equal(find(listed, "id", id("a")).status, "PENDING", "list")
local filtered = workflow.list({ search_attrs = { nobody = "has this" } })
equal(#filtered, 0, "list: filter on attributes")

-- signal, with and without payload; get_events
workflow.signal(id("a"), "go", { speed = 3 })
workflow.signal(id("a"), "go")
refused("a signal to nothing", workflow.signal, id("nothing"), "go")
local events = workflow.get_events(id("a"))
equal(#events, 3, "get_events: count")
equal(events[1].event_type, "WorkflowStarted", "get_events: first")
equal(events[2].seq, 2, "get_events: seq")
equal(json.parse(events[2].payload).payload.speed, 3, "get_events: payload")
equal(json.parse(events[3].payload).payload, nil, "get_events: no payload")

-- one workflow task: a snapshot and a child, through the worker's own calls
local worker = json.parse(workflow._api("POST", "/workers/register", {
  identity = id("worker"), queue = id("q"), workflows = { "Order" }, activities = {},
}).body).worker_id
workflow._api("POST", "/workers/heartbeat", { worker_id = worker })
local task = json.parse(workflow._api("POST", "/workflow-tasks/poll", {
  queue = id("q"), worker_id = worker,
}).body)
equal(task.workflow_id, id("a"), "poll: run")
equal(workflow._api("POST", "/workflow-tasks/" .. id("a") .. "/commands", {
  worker_id = worker,
  commands = {
    { type = "RecordSnapshot", state = { progress = { step = 2 } } },
    { type = "StartChildWorkflow", workflow_type = "Part", workflow_id = id("child"),
      task_queue = id("parts") },
  },
}).status, 200, "commands")

-- get_state, list_children
equal(workflow.get_state(id("a")).state.progress.step, 2, "get_state")
equal(workflow.get_state(id("a"), "progress").value.step, 2, "get_state: one query")
equal(workflow.get_state(id("a"), "nothing"), nil, "get_state: unknown query")
equal(workflow.get_state(id("nothing")), nil, "get_state: unknown run")
local children = workflow.list_children(id("a"))
equal(#children, 1, "list_children: count")
equal(children[1].id, id("child"), "list_children: id")
equal(children[1].parent_id, id("a"), "list_children: parent")

-- continue_as_new, with and without input
workflow.start({ workflow_type = "Chain", workflow_id = id("chain") })
local second = workflow.continue_as_new(id("chain"), { page = 2 })
equal(second.workflow_id:find(id("chain") .. "-continued-", 1, true), 1, "continue_as_new: id")
equal(workflow.describe(id("chain")).status, "COMPLETED", "continue_as_new: source")
equal(json.parse(workflow.describe(second.workflow_id).input).page, 2, "continue_as_new: input")
local third = workflow.continue_as_new(second.workflow_id)
equal(workflow.describe(third.workflow_id).input, nil, "continue_as_new: no input")

-- cancel, terminate
workflow.start({ workflow_type = "Order", workflow_id = id("cancelled") })
workflow.cancel(id("cancelled"))
equal(workflow.describe(id("cancelled")).status, "CANCELLED", "cancel")
refused("a second cancel", workflow.cancel, id("cancelled"))
workflow.start({ workflow_type = "Order", workflow_id = id("ended") })
workflow.terminate(id("ended"))
equal(workflow.describe(id("ended")).error, "terminated", "terminate without a reason")
workflow.start({ workflow_type = "Order", workflow_id = id("killed") })
workflow.terminate(id("killed"), "because")
equal(workflow.describe(id("killed")).error, "because", "terminate with a reason")
equal(workflow.describe(id("killed")).status, "FAILED", "terminate: status")

-- namespaces
workflow.namespaces.create(id("team"))
refused("a second namespace of that name", workflow.namespaces.create, id("team"))
equal(find(workflow.namespaces.list(), "name", id("team")).name, id("team"), "namespaces.list")
equal(workflow.namespaces.stats(id("team")).total_workflows, 0, "namespaces.stats")
equal(workflow.namespaces.describe(id("team")).namespace, id("team"), "namespaces.describe")
workflow.namespaces.delete(id("team"))
refused("a second delete", workflow.namespaces.delete, id("team"))

-- workers, queues
equal(find(workflow.workers.list(), "id", worker).identity, id("worker"), "workers.list")
equal(#workflow.workers.list({ namespace = id("team") }), 0, "workers.list: namespace")
equal(find(workflow.queues.stats(), "queue", id("q")).workers, 1, "queues.stats")
equal(#workflow.queues.stats({ namespace = id("team") }), 0, "queues.stats: namespace")

print("every call answered as it should")
