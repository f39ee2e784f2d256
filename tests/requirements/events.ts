import type { Clause } from './clause.ts'

// One clause a line, so that a state changes in one line and two people rarely meet in one.
// oxfmt-ignore
export const eventsClauses = [
  { line: 210, id: 'events:outbound', state: 'covered', by: 'events', text: 'Outbound event kinds and payloads are not shown.', decided: 'docs/architecture.md#6.25' },
  { line: 210, id: 'events:inbound', state: 'covered', by: 'runs', text: 'Inbound triggers are webhooks, cron, heartbeats and file watchers.' },
  { line: 214, id: 'events:cron:tick', state: 'covered', by: 'cron', text: 'The cron scheduler ticks every 5 seconds (`TICK_INTERVAL=5s`).' },
  { line: 214, id: 'events:cron:not-faster-than-tick', state: 'covered', by: 'cron', text: 'Intervals under 5s do not fire faster.' },
  { line: 215, id: 'events:heartbeat:is-a-cron', state: 'covered', by: 'heartbeat', text: 'A heartbeat is a cron with `heartbeat=true`.' },
  { line: 215, id: 'events:heartbeat:default-schedule', state: 'covered', by: 'heartbeat', text: 'The default schedule of a heartbeat is `every 15m`.' },
  { line: 215, id: 'events:heartbeat:operator-locked', state: 'covered', by: 'heartbeat', text: "The operator's heartbeat is locked to `every 15m`." },
  { line: 216, id: 'events:webhook', state: 'covered', by: 'webhook', text: 'A webhook is an inbound trigger, by the rules of its endpoint.' },
  { line: 217, id: 'events:file-watcher:polls', state: 'covered', by: 'watcher', text: 'The file watcher polls and uses no filesystem notifications.' },
  { line: 217, id: 'events:file-watcher:interval', state: 'covered', by: 'watcher', text: 'The file watcher polls every 5s (`POLL_INTERVAL=5s`).' },
  { line: 217, id: 'events:file-watcher:interval-fixed', state: 'covered', by: 'watcher', text: "The file watcher's interval is not configurable." },
  { line: 217, id: 'events:file-watcher:first-scan-silent', state: 'covered', by: 'watcher', text: 'The first scan is silent: files present at startup do not trigger.' },
  { line: 217, id: 'events:file-watcher:added-or-modified', state: 'covered', by: 'watcher', text: 'Only files added or modified after the first scan trigger.' },
  { line: 219, id: 'events:cron:mode-by-fields', state: 'covered', by: 'cron', text: 'The mode of a cron job is chosen by which fields are present.' },
  { line: 219, id: 'events:cron:message-mode', state: 'covered', by: 'cron', text: 'Message mode sends a chat message and takes an LLM turn.' },
  { line: 219, id: 'events:cron:tool-mode', state: 'covered', by: 'cron', text: 'Tool mode fires `tool_name` with `tool_params` directly, with no LLM.' },
  { line: 219, id: 'events:cron:heartbeat-mode', state: 'covered', by: 'heartbeat', text: 'Heartbeat mode is the third mode of a cron job.' },
  { line: 221, id: 'events:heartbeat:probes-first', state: 'covered', by: 'heartbeat', text: 'The built-in heartbeat probes run first.' },
  { line: 221, id: 'events:heartbeat:probe-disk-usage', state: 'covered', by: 'heartbeat', text: 'The probe `disk_usage` fires above 85% usage.' },
  { line: 221, id: 'events:heartbeat:probe-pending-signals', state: 'covered', by: 'heartbeat', text: 'The probe `pending_signals` fires on any unread signal.' },
  { line: 221, id: 'events:heartbeat:probe-pending-tasks', state: 'covered', by: 'heartbeat', text: 'The probe `pending_tasks` fires on any open handoff.' },
  { line: 221, id: 'events:heartbeat:one-message', state: 'covered', by: 'heartbeat', text: 'On firing, the agent receives everything of the heartbeat in one message.' },
  { line: 221, id: 'events:heartbeat:message-rules', state: 'covered', by: 'heartbeat', text: "The heartbeat message holds the agent's HEARTBEAT.md rules." },
  { line: 221, id: 'events:heartbeat:message-daily-logs', state: 'covered', by: 'heartbeat', text: 'The heartbeat message holds recent daily logs.' },
  { line: 221, id: 'events:heartbeat:message-probe-alerts', state: 'covered', by: 'heartbeat', text: 'The heartbeat message holds the probe alerts.' },
  { line: 221, id: 'events:heartbeat:message-pending', state: 'covered', by: 'heartbeat', text: 'The heartbeat message holds the pending signal and task content.' },
] as const satisfies readonly Clause<'events'>[]
