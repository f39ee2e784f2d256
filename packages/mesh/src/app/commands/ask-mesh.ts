import { request } from 'node:http'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'

/** Trying the walls takes a container's start and its time-outs. */
const answerMaxMs = 120_000

/** The mesh of a home, as its own programs reach it. */
export interface RunningMesh {
  readonly meshPort: number
  readonly homeId: string
}

/** What the internal API of a mesh that runs answers. */
export function askMesh({ meshPort, homeId }: RunningMesh, { method, path }: Endpoint): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port: meshPort,
        method,
        path,
        timeout: answerMaxMs,
        headers: { [headers.meshInternal]: '1', [headers.home]: homeId },
      },
      (reply) => {
        const chunks: Buffer[] = []
        reply.on('data', (chunk: Buffer) => chunks.push(chunk))
        reply.on('end', () => resolve(JSON.parse(Buffer.concat(chunks).toString('utf8'))))
      },
    )
    call.on('timeout', () => call.destroy(new Error('no answer in time')))
    call.on('error', reject)
    call.end()
  })
}
