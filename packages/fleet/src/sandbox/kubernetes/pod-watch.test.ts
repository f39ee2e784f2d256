import { once } from 'node:events'
import type { CoreV1Api, V1Pod } from '@kubernetes/client-node'
import { expect, it } from 'vitest'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../../foundation/src/platform/index.ts'
import { watchPods } from './pod-watch.ts'

const listedAtOnce = 250

const aPod = (index: number): V1Pod => ({
  metadata: {
    name: `pod-${index}`,
    uid: `uid-${index}`,
    annotations: { 'flotilla.agent': `agent-${index}` },
    managedFields: [{ manager: 'kubelet', fieldsV1: { long: 'x'.repeat(1_000) } }],
  },
  spec: { nodeName: 'node-1', containers: [{ name: 'agent', image: 'a' }] },
  status: { phase: 'Running', podIP: '10.0.0.1' },
})

it('the pod watch lists all pods page by page, keeps their state, and watches from the version of the list', async () => {
  const pods = Array.from({ length: 2 * listedAtOnce + 1 }, (_, index) => aPod(index))
  const asked: (readonly [from: string | undefined, limit: number | undefined])[] = []
  const watched: unknown[] = []
  const core: Pick<CoreV1Api, 'listNamespacedPod'> = {
    async listNamespacedPod({ limit, _continue }) {
      asked.push([_continue, limit])
      const from = Number(_continue ?? 0)
      const next = from + (limit ?? pods.length)
      return {
        items: pods.slice(from, next),
        metadata: { resourceVersion: '7', ...(next < pods.length ? { _continue: String(next) } : {}) },
      }
    },
  }
  const heard: string[] = []
  const watch = await watchPods({
    cluster: {
      core,
      readPod: async () => null,
      follow: async (_namespace, { resourceVersion }, { signal }) => {
        watched.push(resourceVersion)
        await once(signal, 'abort')
      },
    },
    namespace: 'fleet',
    labelSelector: 'home=a',
    clock: createManualClock(),
    log: silentLog,
    onPod: ({ metadata }) => heard.push(metadata.name),
    onGone: () => undefined,
    onBack: () => undefined,
  })
  expect(asked).toEqual([
    [undefined, listedAtOnce],
    ['250', listedAtOnce],
    ['500', listedAtOnce],
  ])
  expect(heard).toHaveLength(pods.length)
  expect(watch.known().get('pod-500')).toEqual({
    metadata: { name: 'pod-500', uid: 'uid-500', annotations: { 'flotilla.agent': 'agent-500' } },
    spec: { nodeName: 'node-1' },
    status: { phase: 'Running', podIP: '10.0.0.1' },
  })
  expect(watched).toEqual(['7'])
  await watch.close()
})
