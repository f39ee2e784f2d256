/**
 * How many calls per minute one agent may make, by kind of call; each number is a setting (`rate_limits`). A call
 * that no row below names counts as `other`.
 */
export const ratePerMinute = {
  llm: 600,
  http: 600,
  web_search: 60,
  credentials: 600,
  blackboard_read: 6000,
  blackboard_write: 3000,
  notify: 300,
  tasks: 300,
  messages: 300,
  artifacts: 300,
  skills: 300,
  publish: 1200,
  cron: 300,
  spawn: 60,
  wallet: 60,
  /** Calls of the browser tools, and connections that the browser's pages make. */
  browser: 6000,
  other: 3000,
} as const

export type RateBucket = keyof typeof ratePerMinute

/** Maps calls on the agent API to rate buckets. The first row with the method and the path's beginning applies. */
const rows: readonly { readonly method?: string; readonly path: string; readonly bucket: RateBucket }[] = [
  { path: '/v1/', bucket: 'llm' },
  { path: '/v1beta/', bucket: 'llm' },
  { method: 'GET', path: '/mesh/blackboard', bucket: 'blackboard_read' },
  { path: '/mesh/blackboard', bucket: 'blackboard_write' },
  { path: '/mesh/http', bucket: 'http' },
  { path: '/mesh/mcp', bucket: 'http' },
  { path: '/mesh/web-search', bucket: 'web_search' },
  { path: '/mesh/credentials', bucket: 'credentials' },
  { path: '/mesh/notify', bucket: 'notify' },
  { path: '/mesh/tasks', bucket: 'tasks' },
  { path: '/mesh/messages', bucket: 'messages' },
  { path: '/mesh/artifacts', bucket: 'artifacts' },
  { path: '/mesh/skills', bucket: 'skills' },
  { path: '/mesh/signals/read', bucket: 'other' },
  { path: '/mesh/signals', bucket: 'publish' },
  { path: '/mesh/cron', bucket: 'cron' },
  { path: '/mesh/spawn', bucket: 'spawn' },
  { path: '/mesh/wallet', bucket: 'wallet' },
  { path: '/mesh/browser', bucket: 'browser' },
]

/** Pure. */
export function rateBucketOf(method: string, path: string): RateBucket {
  const row = rows.find(
    (one) => path.startsWith(one.path) && (one.method === undefined || one.method === method),
  )
  return row?.bucket ?? 'other'
}

/** The path prefix of the model gateway, whose OpenAI and other clients expect errors in their own form. */
export const modelSurface = '/v1/'

/** The path prefix of the model gateway for Google's clients. */
export const googleSurface = '/v1beta/'
