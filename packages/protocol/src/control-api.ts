import * as z from 'zod/mini'
import { agentConfigSchema, agentEditSchema, approvalViewSchema, changeViewSchema } from './agent-edit.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { agentViewSchema } from './mesh-human-api.ts'
import { originKinds, peopleChannels } from './origin.ts'

/** The people's API, continued: what agents may do, changes and their undoing, and what waits for a person. */
export const controlEndpoints = {
  agentConfig: {
    method: 'GET',
    path: '/api/agents/{id}/config',
    summary: 'Return role, model, budget and permissions of an agent.',
  },
  agentEdit: {
    method: 'POST',
    path: '/api/agents/{id}/edit',
    summary: 'Change one field of an agent at once. The caller can undo the edit for a limited time.',
  },
  agentDelete: {
    method: 'DELETE',
    path: '/api/agents/{id}',
    summary: 'Delete an agent with its data, tokens and permissions.',
  },
  agentArchive: {
    method: 'POST',
    path: '/api/agents/{id}/archive',
    summary: 'Archive an agent. It is stopped, loses its tokens and gets no work. Its data stays.',
  },
  agentUnarchive: {
    method: 'POST',
    path: '/api/agents/{id}/unarchive',
    summary: 'Restore an archived agent.',
  },
  agentStop: {
    method: 'POST',
    path: '/api/agents/{id}/stop',
    summary: 'Stop an agent’s container. Its next work starts it again.',
  },
  agentHibernate: {
    method: 'POST',
    path: '/api/agents/{id}/hibernate',
    summary: 'Hibernate an idle agent. Its next work starts it again.',
  },
  permissionsExplain: {
    method: 'GET',
    path: '/api/agents/{id}/permissions/explain',
    summary: 'Return whether an agent may carry out an action, and which line of which file decides it.',
  },
  policy: { method: 'GET', path: '/api/policy', summary: 'List the rules of config/policy.yaml.' },
  policyExplain: {
    method: 'GET',
    path: '/api/agents/{id}/policy/explain',
    summary: 'Return the verdict about a request of an agent, and the rule that decides.',
  },
  changes: { method: 'GET', path: '/api/changes', summary: 'List changes of agents, newest first.' },
  changeUndo: {
    method: 'POST',
    path: '/api/changes/{token}/undo',
    summary: 'Undo a change, if nothing has changed the same field since.',
  },
  pending: { method: 'GET', path: '/api/pending', summary: 'List the actions that wait for approval.' },
  pendingOne: {
    method: 'GET',
    path: '/api/pending/{id}',
    summary: 'Return one approval, also after its decision.',
  },
  pendingConfirm: {
    method: 'POST',
    path: '/api/pending/{id}/confirm',
    summary: 'Confirm an action, which is then carried out exactly as it was shown.',
  },
  pendingCancel: {
    method: 'POST',
    path: '/api/pending/{id}/cancel',
    summary: 'Refuse an action that waits for approval.',
  },
} as const satisfies Record<string, Endpoint>

export type ControlEndpointName = keyof typeof controlEndpoints

export const explanationSchema = z.strictObject({
  agent_id: z.string(),
  action: z.string(),
  resource: z.nullable(z.string()),
  as: z.enum(['door', 'program']),
  allowed: z.boolean(),
  reason: z.string(),
  /** The field of the permission record that decides the question, if a field does. */
  field: z.nullable(z.string()),
  file: z.string(),
  /** Line number from 1; null if no line of the file decides. */
  line: z.nullable(z.int()),
  repair: z.string(),
})
export type ExplanationView = z.infer<typeof explanationSchema>

const policyVerdict = z.enum(['allow', 'ask', 'deny'])

export const policyViewSchema = z.strictObject({
  file: z.string(),
  /** Line and reason of the fault because of which every effect is denied; null without a fault. */
  broken: z.nullable(z.string()),
  /** The number of the cases of the file, all of which hold if the file is valid. */
  cases: z.int(),
  rules: z.array(
    z.strictObject({
      name: z.string(),
      line: z.int(),
      verdict: policyVerdict,
      match: z.record(z.string(), z.union([z.array(z.string()), z.number()])),
      when: z.nullable(z.string()),
      reason: z.string(),
      excepts: z.array(z.string()),
      /** How often it decided, and when it did last. */
      hits: z.int(),
      last_hit_at: z.nullable(z.number()),
    }),
  ),
})
export type PolicyView = z.infer<typeof policyViewSchema>

export const policyExplanationSchema = z.strictObject({
  agent_id: z.string(),
  method: z.string(),
  url: z.string(),
  verdict: policyVerdict,
  /** The rule that decides; null if no rule matches, or if the permission record denies. */
  rule: z.nullable(z.string()),
  file: z.string(),
  line: z.nullable(z.int()),
  reason: z.string(),
})
export type PolicyExplanation = z.infer<typeof policyExplanationSchema>

const listLimit = z._default(z.coerce.number().check(z.minimum(1), z.maximum(200)), 50)

export const controlApi = {
  agentConfig: { response: agentConfigSchema },
  agentEdit: {
    request: agentEditSchema,
    response: z.extend(changeViewSchema, {
      /** Parts of the edit that have no effect, each with the repair. */
      notices: z._default(z.array(z.string()), []),
    }),
  },
  agentDelete: { response: z.strictObject({ deleted: z.string() }) },
  agentArchive: { response: agentViewSchema },
  agentUnarchive: { response: agentViewSchema },
  agentStop: { response: agentViewSchema },
  agentHibernate: { response: agentViewSchema },
  permissionsExplain: {
    query: z.strictObject({
      action: z.string().check(z.maxLength(100)),
      resource: z.optional(z.string().check(z.maxLength(600))),
      as: z._default(z.enum(['door', 'program']), 'door'),
    }),
    response: explanationSchema,
  },
  policy: { response: policyViewSchema },
  policyExplain: {
    query: z.strictObject({
      method: z.string().check(z.maxLength(20)),
      url: z.string().check(z.maxLength(4096)),
      origin: z._default(z.enum(originKinds), 'human'),
      /** The channel on which the work was asked for; a rule about channels that asks or denies counts without it. */
      channel: z.optional(z.enum(peopleChannels)),
    }),
    response: policyExplanationSchema,
  },
  changes: {
    query: z.strictObject({ agent: z.optional(z.string()), limit: listLimit }),
    response: z.strictObject({ changes: z.array(changeViewSchema) }),
  },
  changeUndo: { response: changeViewSchema },
  pending: {
    /** `open` for actions that still wait for a decision, `all` for decided ones as well. */
    query: z.strictObject({ state: z._default(z.enum(['open', 'all']), 'open'), limit: listLimit }),
    response: z.strictObject({ pending: z.array(approvalViewSchema) }),
  },
  pendingOne: { response: approvalViewSchema },
  pendingConfirm: {
    request: z.strictObject({
      /** The digest that the person was shown. */
      digest: z.string().check(z.regex(/^[0-9a-f]{64}$/, 'a digest is 64 hex digits')),
    }),
    /** In the state `confirmed` if the action takes minutes; `pendingOne` then shows how it ends. */
    response: approvalViewSchema,
  },
  pendingCancel: { response: approvalViewSchema },
} as const satisfies Record<ControlEndpointName, EndpointSchemas>
