import { request } from 'node:http'
import type { Endpoint } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'

/** Time limit of a call, milliseconds: an isolation check starts a container and waits for its timeouts. */
const answerMaxMs = 120_000

/** What a local program needs to call the mesh of a home. */
export interface RunningMesh {
  readonly meshPort: number
  readonly homeId: string
}

/** Calls the internal API of a running mesh. */
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
    call.on('timeout', () => call.destroy(new Error('the mesh did not answer in time')))
    call.on('error', reject)
    call.end()
  })
}
