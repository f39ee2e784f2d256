import { execFile, spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk'
import { harnessProgram } from '../packages/agent/src/harness/known-harnesses.ts'

/** The measured harness and its package. */
export const measuredHarness = {
  name: 'claude-code',
  package: '@agentclientprotocol/claude-agent-acp@0.101.0',
} as const

/** Installs the harness into a folder of this machine. */
export async function installHarness(folder: string, signal: AbortSignal): Promise<string> {
  const place = ['install', '--prefix', folder, '--no-audit', '--no-fund']
  await promisify(execFile)('npm', [...place, measuredHarness.package], { signal })
  return join(folder, 'node_modules', '.bin')
}

/** A harness that was started on this machine, without a container. */
export interface BareHarness {
  readonly pid: number
  close(): Promise<void>
}

/** Starts the harness as the agent's process does, and sends one prompt, whose answer is not awaited. */
export async function startBareHarness(of: {
  readonly programs: string
  readonly home: string
  readonly model: string
  /** Address of the provider. */
  readonly address: string
}): Promise<BareHarness> {
  await mkdir(of.home, { recursive: true })
  const { command, environment } = harnessProgram(measuredHarness.name, {
    model: of.model,
    openAiUrl: `${of.address}/v1`,
  })
  const [program = '', ...args] = command
  const child = spawn(join(of.programs, program), args, {
    cwd: of.home,
    env: {
      PATH: process.env['PATH'],
      HOME: of.home,
      ANTHROPIC_BASE_URL: of.address,
      ANTHROPIC_API_KEY: 'bench',
      ...environment,
    },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const { pid } = child
  if (pid === undefined) throw new Error(`${program} could not be started`)
  const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout))
  const { agent } = client({ name: 'bench' }).connect(stream)
  await agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} })
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: of.home, mcpServers: [] })
  // Ends with the process.
  agent
    .request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'Say hello.' }] })
    .catch(() => undefined)
  return {
    pid,
    close: async () => {
      process.kill(-pid, 'SIGKILL')
      await ended
    },
  }
}
