import { describe, expect, it } from 'vitest'
import { hasStarted, podSchema, podState, startFailure, waitsFor } from './pod-state.ts'

function aPod(status: object, metadata: object = {}) {
  const annotations = { 'flotilla.agent': 'scout', 'flotilla.start': 's-1' }
  return podSchema.parse({ metadata: { name: 'p', uid: 'u', annotations, ...metadata }, status })
}

const ended = (exitCode: number, reason: string) =>
  aPod({
    phase: 'Failed',
    podIP: '10.0.0.1',
    containerStatuses: [{ name: 'agent', state: { terminated: { exitCode, reason } } }],
  })

describe('the state of a pod', () => {
  it('the state of a pod is an agent at an address with its labels while it runs, also once it was asked to end', () => {
    const status = { phase: 'Running', podIP: '10.0.0.1' }
    const state = {
      agentId: 'scout',
      running: true,
      labels: { 'flotilla.agent': 'scout', 'flotilla.start': 's-1' },
      address: { host: '10.0.0.1', port: 8400 },
    }
    expect(podState(aPod(status))).toEqual(state)
    expect(podState(aPod(status, { deletionTimestamp: new Date(0) }))).toEqual(state)
    expect(podState(aPod(status, { annotations: {} }))).toBeNull()
  })

  it('the state of a pod names the lack of memory where that ended the agent itself', () => {
    expect(podState(ended(137, 'OOMKilled'))?.exit).toEqual({ code: 137, outOfMemory: true })
    expect(podState(ended(3, 'OOMKilled'))?.exit).toEqual({ code: 3, outOfMemory: false })
    expect(podState(ended(137, 'Error'))?.exit).toEqual({ code: 137, outOfMemory: false })
  })

  it('the state of a pod is a kill if no exit code is known, such as after the loss of a node', () => {
    expect(podState(aPod({ phase: 'Failed', reason: 'NodeLost' }))).toMatchObject({
      running: false,
      exit: { code: 137, outOfMemory: false },
    })
  })
})

describe('a pod that starts', () => {
  const waiting = (reason: string) =>
    aPod({
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', reason: 'Unschedulable', message: 'no node' }],
      containerStatuses: [{ name: 'agent', state: { waiting: { reason, message: 'not found' } } }],
    })

  it('a pod that starts is given up for what does not go by itself, and waited for otherwise', () => {
    expect(startFailure(waiting('ImagePullBackOff'))).toBe('ImagePullBackOff: not found')
    expect(startFailure(waiting('ContainerCreating'))).toBeNull()
    expect(hasStarted(waiting('ContainerCreating'))).toBe(false)
    expect(waitsFor(waiting('ContainerCreating'))).toBe('Unschedulable no node; ContainerCreating not found')
  })

  it('a pod that ended during its start reports its last output, if the cluster has it', () => {
    const terminated = { exitCode: 78, reason: 'Error', message: 'not bounded\n' }
    expect(
      waitsFor(aPod({ phase: 'Failed', containerStatuses: [{ name: 'probe', state: { terminated } }] })),
    ).toBe('Error not bounded')
  })

  it('a pod that starts has started once its process has, and an end is after a start', () => {
    const runs = aPod({ phase: 'Pending', containerStatuses: [{ name: 'agent', state: { running: {} } }] })
    expect(hasStarted(runs)).toBe(true)
    expect(hasStarted(ended(0, 'Completed'))).toBe(true)
  })
})
