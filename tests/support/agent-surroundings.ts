import { readFile } from 'node:fs/promises'
import { agentEndpoints } from '@flotilla/protocol/agent-endpoints'
import { eventually } from './eventually.ts'
import { httpCall } from './http-call.ts'
import type { MeshProcess } from './mesh-process.ts'

export interface AgentSurroundings {
  /** Base address of the agent API. */
  readonly api: string
  /** The program token, as programs of the agent see it. */
  readonly programToken: string
  /** Base address of the agent's own server. */
  readonly server: string
  readonly pid: number
  readonly environment: Readonly<Record<string, string>>
}

/** Reads from the kernel which environment a running agent process was given (`process` runtime). */
export async function agentSurroundings(mesh: MeshProcess, agent: string): Promise<AgentSurroundings> {
  return eventually(`${agent} runs`, async () => {
    const record = (await mesh.agentProcesses()).find((found) => found.agentId === agent)
    if (!record) return null
    const text = await readFile(`/proc/${record.pid}/environ`, 'utf8').catch(() => '')
    const environment = Object.fromEntries(
      text.split('\0').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    const { FLOTILLA_MESH_URL: api, OPENAI_API_KEY: programToken } = environment
    if (!api || !programToken) return null
    const server = `http://127.0.0.1:${record.port}`
    const { method, path } = agentEndpoints.healthz
    const healthy = await httpCall({ method, url: `${server}${path}` }).catch(() => null)
    return healthy?.status === 200 ? { api, programToken, server, pid: record.pid, environment } : null
  })
}
