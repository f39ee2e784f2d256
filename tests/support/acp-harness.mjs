/**
 * A harness for tests: a real agent of the Agent Client Protocol that carries out the lines of its prompt instead of
 * asking a model what to do. It keeps its sessions on disk, as harnesses do.
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { agent, methods, ndJsonStream } from '@agentclientprotocol/sdk'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const sessionsFile = '.acp-sessions.json'
const options = new Set(process.argv.slice(2))
const sessions = new Map()
const stored = () => (existsSync(sessionsFile) ? JSON.parse(readFileSync(sessionsFile, 'utf8')) : {})
const store = (id, prompts) => writeFileSync(sessionsFile, JSON.stringify({ ...stored(), [id]: prompts }))

function open(id, { cwd, mcpServers }) {
  sessions.set(id, { cwd, mcpServers, cancel: new AbortController(), calls: 0 })
}

const app = agent({ name: 'harness for tests' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: 1,
    agentCapabilities: { loadSession: !options.has('--forgetful') },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    const sessionId = randomUUID()
    open(sessionId, params)
    store(sessionId, [])
    return { sessionId }
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    const prompts = stored()[params.sessionId]
    if (prompts === undefined) throw new Error('no such session')
    open(params.sessionId, params)
    for (const text of prompts) await say(client, params.sessionId, `earlier: ${text}`)
    return {}
  })
  .onRequest(methods.agent.session.setMode, ({ params }) => {
    sessions.get(params.sessionId).mode = params.modeId
    return {}
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => {
    sessions.get(params.sessionId)?.cancel.abort()
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params
    const session = sessions.get(sessionId)
    session.cancel = new AbortController()
    session.usage = {}
    const texts = prompt.map(({ text }) => text)
    const before = stored()[sessionId] ?? []
    store(sessionId, [...before, texts.join('\n')])
    const asked = texts.at(-1)
    for (const line of linesOf(asked)) {
      if (session.cancel.signal.aborted) return { stopReason: 'cancelled' }
      const at = line.indexOf(' ')
      const [word, rest] = at === -1 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)]
      const step = steps[word]
      const stop = step && (await step({ rest, client, sessionId, session, before, texts }))
      if (stop?.usage) session.usage = stop.usage
      else if (stop) return { stopReason: stop }
    }
    if (linesOf(asked).every((line) => steps[line.split(' ')[0]] === undefined))
      await say(client, sessionId, `Read: ${asked}`)
    const stopReason = session.cancel.signal.aborted ? 'cancelled' : 'end_turn'
    return { stopReason, ...session.usage }
  })

app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))

/** The lines of a message, or those between `[[` and `]]`, divided by `;;`: a task quotes its description as JSON. */
function linesOf(text) {
  const quoted = /\[\[(.*)\]\]/s.exec(text)?.[1]
  if (quoted === undefined) return text.split('\n')
  const plain = quoted.includes('\\"') ? JSON.parse(`"${quoted}"`) : quoted
  return plain.split(';;').map((line) => line.trim())
}

const steps = {
  say: ({ rest, client, sessionId }) => say(client, sessionId, rest),
  /** Says how many prompts the session had before, and what this one contains besides its last text. */
  history: ({ client, sessionId, before, texts }) =>
    say(client, sessionId, JSON.stringify({ before: before.length, texts: texts.slice(0, -1) })),
  plan: ({ rest, client, sessionId }) =>
    update(client, sessionId, {
      sessionUpdate: 'plan',
      entries: rest.split(';').map((content) => ({ content, priority: 'medium', status: 'pending' })),
    }),
  /** Does what `run` does, and names the call in its request by its identifier alone. */
  bare: (of) => steps.run({ ...of, isBare: true }),
  /** Runs a command line, after asking for permission. */
  run: async ({ rest, client, sessionId, session, isBare = false }) => {
    const toolCallId = `call_${(session.calls += 1)}`
    const call = { toolCallId, title: rest, kind: 'execute', rawInput: { command: rest } }
    await update(client, sessionId, { sessionUpdate: 'tool_call', status: 'pending', ...call })
    const { outcome } = await client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall: isBare ? { toolCallId } : call,
      options: [
        { optionId: 'always', name: 'Always', kind: 'allow_always' },
        { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
        { optionId: 'no', name: 'No', kind: 'reject_once' },
      ],
    })
    const isAllowed = outcome.outcome === 'selected' && outcome.optionId === 'yes'
    const output = isAllowed ? await run(rest, session) : `refused: ${JSON.stringify(outcome)}`
    await update(client, sessionId, {
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: isAllowed ? 'completed' : 'failed',
      content: [{ type: 'content', content: { type: 'text', text: output } }],
    })
  },
  /** Calls a tool of the first MCP server: its name, then its arguments as JSON. Says the result. */
  mesh: async ({ rest, client, sessionId, session }) => {
    const [name, ...words] = rest.split(' ')
    const mcp = await connected(session)
    const result = await mcp.callTool({ name, arguments: JSON.parse(words.join(' ') || '{}') })
    await say(client, sessionId, `[${name}${result.isError ? ' failed' : ''}] ${result.content[0].text}`)
  },
  /** Calls a tool as `mesh` does, and cancels the call when the file named first exists. */
  drop: async ({ rest, client, sessionId, session }) => {
    const [file, name, ...words] = rest.split(' ')
    const mcp = await connected(session)
    const cancel = new AbortController()
    const call = mcp.callTool({ name, arguments: JSON.parse(words.join(' ')) }, { signal: cancel.signal })
    const dropped = call.then(
      () => 'answered',
      () => 'dropped',
    )
    await steps.until({ rest: file, session })
    cancel.abort()
    await say(client, sessionId, `[${name} ${await dropped}]`)
  },
  tools: async ({ client, sessionId, session }) => {
    const { tools } = await (await connected(session)).listTools()
    await say(client, sessionId, tools.map(({ name }) => name).join(' '))
  },
  /** Asks a model through the gateway: its name, then the question. Says its answer. */
  model: async ({ rest, client, sessionId }) => {
    const [model, ...question] = rest.split(' ')
    const messages = [{ role: 'user', content: question.join(' ') }]
    const reply = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${process.env.OPENAI_API_KEY}` },
      body: JSON.stringify({ model, messages, max_tokens: 100 }),
    })
    const body = await reply.json()
    await say(client, sessionId, body.choices?.[0]?.message?.content ?? JSON.stringify(body))
  },
  mode: ({ client, sessionId, session }) => say(client, sessionId, session.mode ?? '(not set)'),
  /** Prints an environment variable. */
  env: ({ rest, client, sessionId }) => say(client, sessionId, process.env[rest] ?? '(not set)'),
  /** Waits until the prompt is cancelled. */
  wait: ({ session: { cancel } }) =>
    new Promise((resolve) => {
      cancel.signal.addEventListener('abort', () => resolve('cancelled'), { once: true })
    }),
  /** Waits for a file to exist. */
  until: async ({ rest, session }) => {
    while (!existsSync(rest) && !session.cancel.signal.aborted)
      await new Promise((resolve) => {
        setTimeout(resolve, 20)
      })
  },
  /** Ends the process, the first time: the file remembers. */
  die: ({ rest }) => {
    if (existsSync(rest)) return
    writeFileSync(rest, '')
    process.stderr.write('the harness dies\n')
    process.exit(3)
  },
  refuse: () => 'refusal',
  /** Reports the size of the context: a number of tokens. */
  context: ({ rest, client, sessionId }) =>
    update(client, sessionId, { sessionUpdate: 'usage_update', used: Number(rest), size: 200_000 }),
  /** Adds fields to the answer of the prompt: JSON. */
  usage: ({ rest }) => ({ usage: JSON.parse(rest) }),
}

async function connected(session) {
  if (session.mcp) return session.mcp
  const { command, args, env } = session.mcpServers[0]
  const mcp = new Client({ name: 'harness for tests', version: '1' })
  const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]))
  await mcp.connect(new StdioClientTransport({ command, args, env: { ...process.env, ...variables } }))
  session.mcp = mcp
  return mcp
}

function run(command, { cwd }) {
  return new Promise((resolve) => {
    execFile('bash', ['-c', command], { cwd }, (error, stdout, stderr) => {
      resolve(`${stdout}${stderr}${error ? `\nexit code ${error.code}` : ''}`)
    })
  })
}

function say(client, sessionId, text) {
  return update(client, sessionId, {
    sessionUpdate: 'agent_message_chunk',
    content: { type: 'text', text },
  })
}

function update(client, sessionId, of) {
  return client.notify(methods.client.session.update, { sessionId, update: of })
}
