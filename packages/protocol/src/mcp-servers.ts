import * as z from 'zod/mini'

/**
 * `mcpServers` of an agent, in the form that MCP clients use: `command`, `args`, `env` for a program inside the
 * agent's container, `url`, `headers` for a server on the network, which the agent reaches through the mesh.
 */

/** Servers of one agent. */
export const mcpServersMax = 16
/** Time limits for connecting to a server until its tools are known, and for one call of a tool, in milliseconds. */
export const mcpTimes = {
  startup: { default: 15_000, min: 500, max: 120_000 },
  call: { default: 120_000, min: 1000, max: 600_000 },
} as const

const namePattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/
const variablePattern = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
const headerPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const handleStart = '$CRED{'
const handle = /\$CRED\{[A-Za-z0-9][A-Za-z0-9_]{0,127}\}/g

/** Headers that the transport itself sets. */
const transportHeaders: readonly string[] = [
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'host',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'proxy-authorization',
  'transfer-encoding',
]
/** Headers that contain only secrets. In plain text they would be stored in the database and sent in replies. */
const secretHeaders: readonly string[] = ['authorization', 'cookie', 'x-api-key', 'api-key', 'x-auth-token']

function text(name: string, maxChars: number) {
  const message = `${name} is a text of 1 to ${maxChars} characters`
  return z.string(message).check(z.minLength(1, message), z.maxLength(maxChars, message))
}

function milliseconds(name: string, { min, max }: { readonly min: number; readonly max: number }) {
  const message = `${name} is a whole number of milliseconds from ${min} to ${max}`
  return z.optional(z.int(message).check(z.minimum(min, message), z.maximum(max, message)))
}

const shared = {
  /** The server is stored and not started. */
  disabled: z.optional(z.boolean('disabled is true or false')),
  startupTimeoutMs: milliseconds('startupTimeoutMs', mcpTimes.startup),
  callTimeoutMs: milliseconds('callTimeoutMs', mcpTimes.call),
  /** The only tools that are offered, by the server's own names; if omitted, all are offered. */
  tools: z.optional(
    z
      .array(text('a name in tools', 128), 'tools is a list of names')
      .check(z.maxLength(64, 'tools has at most 64 names')),
  ),
}

const localSchema = z.strictObject({
  type: z.optional(z.literal('stdio', 'type of a local program is stdio')),
  command: text('command', 4096),
  args: z._default(
    z
      .array(
        z
          .string('args is a list of texts')
          .check(z.maxLength(4096, 'an entry of args has at most 4096 characters')),
        'args is a list of texts',
      )
      .check(z.maxLength(64, 'args has at most 64 entries')),
    [],
  ),
  env: z._default(
    z.record(z.string(), z.string('env is an object of texts'), 'env is an object of texts'),
    {},
  ),
  ...shared,
})

const remoteTypes = ['http', 'streamable-http', 'sse'] as const
const remoteSchema = z.strictObject({
  /** If omitted, the agent uses Streamable HTTP, or SSE with a server that rejects Streamable HTTP. */
  type: z.optional(z.enum(remoteTypes, `type of a server with a url is one of ${remoteTypes.join(', ')}`)),
  url: text('url', 2048),
  headers: z._default(
    z.record(z.string(), z.string('headers is an object of texts'), 'headers is an object of texts'),
    {},
  ),
  ...shared,
})

export type LocalMcpServer = z.infer<typeof localSchema>
export type RemoteMcpServer = z.infer<typeof remoteSchema>
export type McpServer = LocalMcpServer | RemoteMcpServer
export type McpServers = Readonly<Record<string, McpServer>>

export function isRemote(server: McpServer): server is RemoteMcpServer {
  return 'url' in server
}

/** Parses one server, or returns a description of the error. Pure. */
export function readMcpServer(
  raw: unknown,
): { readonly server: McpServer; readonly fault: null } | { readonly server: null; readonly fault: string } {
  const no = (fault: string) => ({ server: null, fault }) as const
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return no('the server is not an object')
  const [local, remote] = ['command' in raw, 'url' in raw]
  if (local === remote) {
    return no('give either command (a program inside the container) or url (a server on the network)')
  }
  const parsed = (local ? localSchema : remoteSchema).safeParse(raw)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    return no(
      issue?.code === 'unrecognized_keys'
        ? `there is no field ${issue.keys.join(', ').slice(0, 100)}`
        : (issue?.message ?? 'the entry is not a valid server'),
    )
  }
  const server = parsed.data
  const fault = isRemote(server) ? remoteFault(server) : localFault(server)
  return fault === null ? { server, fault: null } : no(fault)
}

function localFault({ command, args, env }: LocalMcpServer): string | null {
  const names = Object.keys(env)
  if (names.length > 64) return 'env has at most 64 variables'
  const texts: readonly (readonly [where: string, text: string])[] = [
    ['command', command],
    ...args.map((word, index) => [`args[${index}]`, word] as const),
    ...Object.entries(env).map(([name, value]) => [`env.${name}`, value] as const),
  ]
  for (const [where, value] of texts) {
    if (value.includes('\0')) return `${where} contains a null character`
    if (value.length > 8192) return `${where} is longer than 8192 characters`
    if (value.includes(handleStart)) {
      return `${where}: a handle is refused in a local program, because its value would enter the agent's container; use a server with a url, whose handles are filled in outside, or $CRED{...} in http_request`
    }
  }
  for (const name of names) {
    if (!variablePattern.test(name)) return `env.${name.slice(0, 60)} is not a name of a variable`
    if (name.startsWith('FLOTILLA_')) return `env.${name}: names that begin with FLOTILLA_ are reserved`
  }
  return null
}

function remoteFault({ url, headers }: RemoteMcpServer): string | null {
  const bare = url.replace(handle, 'handle')
  if (bare.includes(handleStart)) return 'url: a handle is $CRED{name}, where name is letters, digits and _'
  if (!URL.canParse(bare)) return 'url is not an address'
  const parsed = new URL(bare)
  if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')
    return 'url begins with https:// or http://'
  const rest = url.slice(url.indexOf('//') + 2)
  const host = (/^[^/?#]*/.exec(rest)?.[0] ?? '').replace(/^.*@/, '')
  if (host.includes(handleStart)) return 'url: the host cannot be a handle'
  if (parsed.hash !== '') return 'url has no part after #'
  if (parsed.password !== '' && !/:[^@/:]*\$CRED\{/.test(rest)) {
    return 'url: a password may not be written here; store it as a credential and write https://user:$CRED{name}@host'
  }
  if (Object.keys(headers).length > 32) return 'headers has at most 32 entries'
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    if (!headerPattern.test(name)) return `headers: ${name.slice(0, 60)} is not a name of a header`
    if (transportHeaders.includes(lower)) return `headers.${name} is set by the transport`
    if (value.length > 4096 || /[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      return `headers.${name} is not one line of at most 4096 characters`
    }
    if (value.replace(handle, '').includes(handleStart)) {
      return `headers.${name}: a handle is $CRED{name}, where name is letters, digits and _`
    }
    if (secretHeaders.includes(lower) && !value.includes(handleStart)) {
      return `headers.${name} is a secret: store it with flotilla credentials set NAME --host ${parsed.host}, and write $CRED{NAME} here`
    }
  }
  return null
}

/** Describes the error in the name of a server; null if it is valid. Pure. */
export function mcpNameFault(name: string): string | null {
  return namePattern.test(name)
    ? null
    : `${name.slice(0, 60)} is not a valid name of a server: 1 to 32 of A-Z a-z 0-9 _ -, starting with a letter or digit`
}

/** All servers of an agent; an issue names the server and its error. */
export const mcpServersSchema = z.pipe(
  z.unknown(),
  z.transform((raw, context): McpServers => {
    const fail = (message: string) => {
      context.issues.push({ code: 'custom', message, input: raw })
      return z.NEVER
    }
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
      return fail('mcpServers is an object: { name: { command, args, env } } or { name: { url, headers } }')
    }
    const entries = Object.entries(raw)
    if (entries.length > mcpServersMax) return fail(`an agent has at most ${mcpServersMax} MCP servers`)
    const read: [string, McpServer][] = []
    for (const [name, value] of entries) {
      const nameFault = mcpNameFault(name)
      if (nameFault !== null) return fail(nameFault)
      const { server, fault } = readMcpServer(value)
      if (fault !== null) return fail(`${name}: ${fault}`)
      read.push([name, server])
    }
    return Object.fromEntries(read)
  }),
)

/** What an agent receives about one server: no headers and no credential handles, which the mesh adds. */
export type McpBrief =
  | {
      readonly kind: 'local'
      readonly name: string
      readonly command: string
      readonly args: readonly string[]
      readonly env: Readonly<Record<string, string>>
      readonly startupTimeoutMs: number
      readonly callTimeoutMs: number
      readonly tools: readonly string[] | null
    }
  | {
      readonly kind: 'remote'
      readonly name: string
      /** The address with a placeholder for each handle; the mesh maps requests for it to the real address. */
      readonly url: string
      readonly transport: 'http' | 'sse' | 'either'
      readonly startupTimeoutMs: number
      readonly callTimeoutMs: number
      readonly tools: readonly string[] | null
    }

/** Returns the enabled servers in the form that their agent receives. Pure. */
export function mcpBriefs(servers: McpServers): readonly McpBrief[] {
  return Object.entries(servers).flatMap(([name, server]): McpBrief[] => {
    if (server.disabled === true) return []
    const times = {
      startupTimeoutMs: server.startupTimeoutMs ?? mcpTimes.startup.default,
      callTimeoutMs: server.callTimeoutMs ?? mcpTimes.call.default,
      tools: server.tools ?? null,
    }
    if (!isRemote(server)) {
      const { command, args, env } = server
      return [{ kind: 'local', name, command, args, env, ...times }]
    }
    const transport = server.type === undefined ? 'either' : server.type === 'sse' ? 'sse' : 'http'
    return [{ kind: 'remote', name, url: shownAddress(server.url), transport, ...times }]
  })
}

/** Returns the address for the agent: without a user name, and with placeholders instead of handles. Pure. */
export function shownAddress(url: string): string {
  const shown = new URL(url.replace(handle, 'handle'))
  shown.username = ''
  shown.password = ''
  return shown.href
}
