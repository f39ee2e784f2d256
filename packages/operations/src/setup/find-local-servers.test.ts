import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { setupLimits } from '@flotilla/protocol/setup-api'
import type { PinnedFetch } from '../../../egress/src/egress/index.ts'
import { systemClock } from '../../../foundation/src/platform/index.ts'
import { findLocalServers } from './find-local-servers.ts'

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.close()
})

async function aServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const lists =
  (...models: readonly string[]): RequestListener =>
  (_request, response) =>
    response.end(JSON.stringify({ object: 'list', data: models.map((id) => ({ id })) }))

/** Without a filter, which has tests of its own. */
function aFetch(asked: (readonly string[])[]): (places: readonly string[]) => PinnedFetch {
  return (places) => {
    asked.push(places)
    return async ({ url }, signal) => {
      const reply = await fetch(url, { signal })
      return {
        status: reply.status,
        headers: {},
        body: reply.body ?? new ReadableStream<Uint8Array>(),
        close: async () => undefined,
      }
    }
  }
}

test('a model server is distinguished from one without models, another service, and a closed port', async () => {
  const gone = await aServer(lists())
  servers.pop()?.close()
  const places = [
    { name: 'found', title: 'A', place: await aServer(lists('qwen3', 'a b', 'x'.repeat(300), 'llama')) },
    { name: 'empty', title: 'B', place: await aServer(lists()) },
    {
      name: 'other',
      title: 'C',
      place: await aServer((_request, response) => void response.end('<h1>Hello</h1>')),
    },
    {
      name: 'refuses',
      title: 'D',
      place: await aServer((_request, response) => void response.writeHead(401).end()),
    },
    {
      name: 'endless',
      title: 'E',
      place: await aServer((_request, response) => void response.write('['.repeat(2_000_000))),
    },
    { name: 'absent', title: 'F', place: gone },
  ]
  const asked: (readonly string[])[] = []
  const found = await findLocalServers(
    { fetchAt: aFetch(asked), clock: systemClock },
    places,
    new AbortController().signal,
  )
  expect(found.map(({ name, state }) => [name, state])).toEqual([
    ['found', 'found'],
    ['empty', 'empty'],
    ['other', 'other'],
    ['refuses', 'other'],
    ['endless', 'other'],
    ['absent', 'absent'],
  ])
  // A model name with white space, or one that is too long, is ignored.
  expect(found[0]?.models).toEqual(['llama', 'qwen3'])
  expect(asked).toEqual([places.map(({ place }) => place)])
})

test('a list is cut where no page could show it', async () => {
  const many = Array.from({ length: setupLimits.modelsMax + 10 }, (_, index) => `model-${index}`)
  const place = await aServer(lists(...many))
  const [server] = await findLocalServers(
    { fetchAt: aFetch([]), clock: systemClock },
    [{ name: 'a', title: 'A', place }],
    new AbortController().signal,
  )
  expect(server?.models).toHaveLength(setupLimits.modelsMax)
})
