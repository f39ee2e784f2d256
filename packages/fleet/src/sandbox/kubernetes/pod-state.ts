import * as z from 'zod'
import { labelKeys } from '../hardening/container-options.ts'
import type { SandboxState } from '../sandbox-runtime.ts'
import { sandboxHardening } from '../sandbox-spec.ts'

/** The exit code of a killed process, which is assumed for pods that disappeared without an exit code. */
const killedCode = 137

const containerStateSchema = z.object({
  waiting: z.object({ reason: z.string().nullish(), message: z.string().nullish() }).nullish(),
  running: z.object({}).nullish(),
  terminated: z
    .object({ exitCode: z.number(), reason: z.string().nullish(), message: z.string().nullish() })
    .nullish(),
})

const containerStatusSchema = z.object({ name: z.string(), state: containerStateSchema.nullish() })

/**
 * The fields of a pod from which its sandbox state is derived. Other fields are dropped, because all watched pods are
 * kept in memory.
 */
export const podSchema = z.object({
  metadata: z.object({
    name: z.string(),
    uid: z.string(),
    labels: z.record(z.string(), z.string()).nullish(),
    annotations: z.record(z.string(), z.string()).nullish(),
    deletionTimestamp: z.unknown().optional(),
    finalizers: z.array(z.string()).nullish(),
  }),
  spec: z.object({ nodeName: z.string().nullish() }).nullish(),
  status: z
    .object({
      phase: z.string().nullish(),
      reason: z.string().nullish(),
      message: z.string().nullish(),
      podIP: z.string().nullish(),
      conditions: z
        .array(z.object({ type: z.string(), reason: z.string().nullish(), message: z.string().nullish() }))
        .nullish(),
      initContainerStatuses: z.array(containerStatusSchema).nullish(),
      containerStatuses: z.array(containerStatusSchema).nullish(),
    })
    .nullish(),
})

export type Pod = z.infer<typeof podSchema>

/** Returns true if nothing runs in the pod and nothing will. Pure. */
export function hasEnded(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

/** Returns true if the agent's process was started, even if it has ended since. Pure. */
export function hasStarted(pod: Pod): boolean {
  return hasEnded(pod) || (agentState(pod)?.running ?? null) !== null
}

export function agentIdOf(pod: Pod): string | null {
  return pod.metadata.annotations?.[labelKeys.agent] ?? null
}

/** Returns the sandbox state of a pod; null if the pod does not belong to an agent. Pure. */
export function podState(pod: Pod): SandboxState | null {
  const agentId = agentIdOf(pod)
  if (agentId === null) return null
  const labels = { ...pod.metadata.labels, ...pod.metadata.annotations }
  if (hasEnded(pod)) return { agentId, running: false, labels, exit: exitOf(pod) }
  const host = pod.status?.podIP
  // A pod that is being deleted still runs until it has ended; a pod that waits for a node has no address yet.
  return {
    agentId,
    running: true,
    labels,
    ...(host ? { address: { host, port: sandboxHardening.agentPort } } : {}),
  }
}

/** How an ended pod ended. Pure. */
export function exitOf(pod: Pod): { readonly code: number; readonly outOfMemory: boolean } {
  const terminated = agentState(pod)?.terminated
  if (!terminated) return { code: killedCode, outOfMemory: false }
  const { exitCode: code, reason } = terminated
  // Runtimes report `OOMKilled` even if only a program of the agent was killed and the agent ended later by itself.
  return { code, outOfMemory: reason === 'OOMKilled' && code === killedCode }
}

/** Reasons for waiting that do not resolve by themselves, so that the start fails at once. */
const lastingReasons = [
  'CreateContainerConfigError',
  'CreateContainerError',
  'ErrImageNeverPull',
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'RunContainerError',
]

/** Returns in the cluster's words why a pod can never start; null if it still can. Pure. */
export function startFailure(pod: Pod): string | null {
  for (const { state } of statusesOf(pod)) {
    const { reason, message } = state?.waiting ?? {}
    if (reason && lastingReasons.includes(reason)) return `${reason}: ${message ?? ''}`
  }
  return null
}

/** Describes what a pod waits for, in the cluster's words. Pure. */
export function waitsFor(pod: Pod): string {
  const reasons = [
    [pod.status?.reason, pod.status?.message],
    ...(pod.status?.conditions ?? []).map(({ reason, message }) => [reason, message]),
    ...statusesOf(pod).map(({ state }) => [state?.waiting?.reason, state?.waiting?.message]),
    ...statusesOf(pod).map(({ state }) => [state?.terminated?.reason, state?.terminated?.message]),
  ]
  const texts = reasons.flatMap(([reason, message]) => (reason ? [`${reason} ${message ?? ''}`.trim()] : []))
  return [...new Set(texts)].join('; ') || `phase ${pod.status?.phase ?? 'unknown'}`
}

function statusesOf(pod: Pod) {
  return [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]
}

function agentState(pod: Pod) {
  return pod.status?.containerStatuses?.find(({ name }) => name === 'agent')?.state
}
