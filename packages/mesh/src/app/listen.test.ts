import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { inEnvFile, listen } from './listen.ts'
import type { Listener } from './listen.ts'

function aServer(): { readonly server: Server; readonly listener: Listener } {
  const server = createServer()
  onTestFinished(() => void server.close())
  const listener: Listener = {
    listen: ({ port, host }) =>
      new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => resolve(null))
      }),
  }
  return { server, listener }
}

test('a port that another listener of this mesh uses is reported as such, without advice to stop a program', async () => {
  heedsLesson(89)
  const people = aServer()
  await listen(people.listener, { port: 0, host: '127.0.0.1', otherwise: null })
  const { port } = people.server.address() as AddressInfo
  const otherwise = inEnvFile('FLOTILLA_PUBLIC_BIND')
  const refused = listen(aServer().listener, { port, host: '0.0.0.0', otherwise })
  await expect(refused).rejects.toMatchObject({
    code: 'conflict',
    detail: `port ${port} on 0.0.0.0 is used by another listener of this mesh`,
    repair: 'Choose another port: FLOTILLA_PUBLIC_BIND in .env of the home, then flotilla start -d.',
  })
})
