import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { heartbeatApi, heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import type { RunView } from '@flotilla/protocol/run'
import { build } from 'esbuild'
import { aPng } from '../../packages/agent/src/testing/pictures.ts'
import { aCassette, calls, runs, says } from './cassettes.ts'
import { repositoryRoot, startMesh } from './mesh-process.ts'
import type { MeshProcess } from './mesh-process.ts'
import { startWebServer } from './web-server.ts'
import { patient } from './patience.ts'

/** Everything that an agent can do, in stages that one container can run in sequence. */
export interface AgentStages {
  readonly mesh: MeshProcess
  /** The stages in order; each rejects unless it did what its name says. */
  stages(agent: string): readonly AgentStage[]
  close(): Promise<void>
}

export interface AgentStage {
  readonly name: string
  run(): Promise<void>
}

const windowTokens = 32_000
const longMessageChars = 24_000
const longTurns = 4
const pictureBytes = 500_000
const programBytes = 40_000_000

const skill = `import { skill } from '@flotilla/skill'
export default skill('count_words', 'Counts the words of a text', { text: { type: 'string' } },
  async ({ text }, { mesh_client }) => {
    await mesh_client.write_blackboard({ key: 'output/words', value: text.split(' ').length })
    const kept = await mesh_client.read_blackboard({ key: 'output/words' })
    return { counted: kept.value }
  })`

const spawn = (part: number) => ({ name: 'spawn_subagent', arguments: { goal: `PART ${part}` } })

const cassette = aCassette(
  { when: '^hello$', turns: [says('hello yourself')] },
  {
    when: '^remember$',
    turns: [
      calls('memory_save', { content: 'The owner drinks tea at four', key: 'owner.drink' }),
      calls('memory_search', { query: 'when does the owner drink tea?' }),
      says('{{text}} by {{by}}', { capture: { text: '"text": "([^"]+)"', by: '"searched_by": "([^"]+)"' } }),
    ],
  },
  {
    when: '^learn$',
    turns: [
      calls('create_skill', { name: 'count_words', code: skill }),
      calls('count_words', { text: 'one two three' }),
      says('Counted {{n}}', { capture: { n: '"counted": (\\d+)' } }),
    ],
  },
  {
    when: '^in parts$',
    turns: [
      { tool_calls: [spawn(1), spawn(2), spawn(3)] },
      calls('wait_for_subagent', {}),
      says('{{a}} {{b}} {{c}}', {
        capture: { a: 'part 1 (said \\d+)', b: 'part 2 (said \\d+)', c: 'part 3 (said \\d+)' },
      }),
    ],
  },
  ...[1, 2, 3].map((part) => ({
    when: `^PART ${part}$`,
    turns: [
      runs(`sleep 1; echo result $((${part} * 7))`),
      says(`part ${part} said {{n}}`, { capture: { n: 'result (\\d+)' } }),
    ],
  })),
  {
    when: '^ask the server$',
    turns: [calls('add', { a: 40, b: 2 }), says('{{sum}}', { capture: { sum: 'the sum is (\\d+)' } })],
  },
  {
    when: '^look$',
    turns: [
      {
        tool_calls: [
          { name: 'view_image', arguments: { path: 'a.png' } },
          { name: 'web_search', arguments: { query: 'tea' } },
        ],
      },
      says('{{title}}, {{shown}}', { capture: { title: '"title": "([^"]+)"', shown: '(image/png)' } }),
    ],
  },
  {
    when: '^a large program$',
    turns: [
      runs(
        `node -e 'const b = Buffer.alloc(${programBytes}, 1); setTimeout(() => console.log("held " + b.length), 1000)'`,
      ),
      says('{{held}}', { capture: { held: 'held (\\d+)' } }),
    ],
  },
  { when: '# Hard rules', turns: [says('HEARTBEAT_OK')] },
  { turns: [says('as you say')] },
)

/** Starts a fleet of containers with an operator and the worker `clerk`. */
export async function startAgentStages(): Promise<AgentStages> {
  const server = await mcpProgram()
  const picture = Buffer.concat([aPng(), randomBytes(pictureBytes)])
  // The response format of a SearXNG that has `json` among its formats.
  const web = await startWebServer((_request, response) => {
    const results = Array.from({ length: 10 }, (_, index) => ({
      title: `Tea ${index}`,
      url: `https://site.test/${index}`,
      content: 'leaves and water '.repeat(40),
    }))
    response.end(JSON.stringify({ query: 'tea', results }))
  })
  const address = `127.0.0.1:${web.port}`
  const mesh = await startMesh({
    runtime: 'docker',
    // The model name selects the bundled tokenizer, which operators never load.
    cassettes: { 'gpt-mind': cassette },
    environment: { FLOTILLA_NO_INSTALL: '1' },
    settings: {
      embedding_model: 'offline/hashed-words',
      models: { 'scripted/gpt-mind': { context: windowTokens } },
      web_search: { provider: 'searxng', url: `http://${address}` },
      egress: { allowed_private: [address] },
    },
  }).catch(async (error: unknown) => {
    await web.close()
    throw error
  })

  const stages = (agent: string): readonly AgentStage[] => {
    const ask = (message: string, session: string) => mesh.ask(message, { agent, session })
    const says = (name: string, message: string, expected: string): AgentStage => ({
      name,
      run: async () => expectText(await ask(message, message), expected),
    })
    return [
      says('first answer', 'hello', 'hello yourself'),
      says('memory: save and search', 'remember', 'The owner drinks tea at four by words and meaning'),
      says('a skill: written and used', 'learn', 'Counted 3'),
      says('three sub-agents with a tool each', 'in parts', 'said 7 said 14 said 21'),
      {
        name: 'an MCP server in the container',
        run: async () => {
          const laid = await mesh.call(meshHumanEndpoints.fileWrite, {
            params: { id: agent, path: 'server.cjs' },
            body: server,
          })
          const set = { inside: { command: 'node', args: ['/data/server.cjs'], startupTimeoutMs: 60_000 } }
          const edited = await mesh.call(controlEndpoints.agentEdit, {
            params: { id: agent },
            body: { field: 'mcpServers', value: { set, remove: [] }, reason: '' },
          })
          if (laid.status >= 300 || edited.status !== 200) throw new Error(`${laid.text} ${edited.text}`)
          expectText(await ask('ask the server', 'server'), '42')
        },
      },
      {
        name: 'a picture and a web search',
        run: async () => {
          const params = { id: agent, path: 'a.png' }
          const laid = await mesh.call(meshHumanEndpoints.fileWrite, { params, body: picture })
          if (laid.status >= 300) throw new Error(laid.text)
          expectText(await ask('look', 'look'), 'Tea 0, image/png')
        },
      },
      {
        name: 'a heartbeat',
        run: async () => {
          const reply = await mesh.call(heartbeatEndpoints.heartbeatRun, {
            params: { id: agent },
            body: { if_needed: false },
            timeoutMs: patient(60_000),
          })
          const { run } = heartbeatApi.heartbeatRun.response.parse(reply.json())
          if (run?.state !== 'done') throw new Error(reply.text)
        },
      },
      {
        name: 'a conversation up to compaction',
        run: async () => {
          for (let turn = 1; turn <= longTurns; turn += 1) {
            const words = `turn ${turn} `.repeat(longMessageChars / 7)
            expectText(await ask(words, 'long'), 'as you say')
          }
          const kept = await mesh.invoke(agent, 'list_files', { path: 'workspace/memory/transcripts' })
          if (!JSON.stringify(kept.outcome).includes('.md')) throw new Error(JSON.stringify(kept.outcome))
        },
      },
      says('a program that takes 40 MB', 'a large program', String(programBytes)),
    ]
  }
  const close = async () => {
    await mesh.stop()
    await web.close()
  }
  try {
    await mesh.createWorker('clerk')
    return { mesh, stages, close }
  } catch (error) {
    await close()
    throw error
  }
}

function expectText(run: RunView, expected: string): void {
  if (run.outcome?.text !== expected)
    throw new Error(`${expected} was expected: ${JSON.stringify(run.outcome)}`)
}

async function mcpProgram(): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [join(repositoryRoot, 'tests', 'support', 'mcp-program.mjs')],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
    logLevel: 'silent',
  })
  return outputFiles[0]?.contents ?? new Uint8Array()
}
