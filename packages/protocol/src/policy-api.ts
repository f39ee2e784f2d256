import * as z from 'zod/mini'
import { approvalViewSchema } from './agent-edit.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** The owner's API to try rules of config/policy.yaml, to see what they do, and to add one. */
export const policyEndpoints = {
  policyTest: {
    method: 'POST',
    path: '/api/policy/test',
    summary: 'Run the cases of config/policy.yaml, or of another text, and change nothing.',
  },
  policyStops: {
    method: 'GET',
    path: '/api/policy/stops',
    summary: 'List what rules asked for or denied lately, each with a rule that would allow it.',
  },
  policyReach: {
    method: 'GET',
    path: '/api/agents/{id}/policy/reach/{credential}',
    summary: 'List every host that could ever get a credential from an agent.',
  },
  policyRuleAdd: {
    method: 'POST',
    path: '/api/policy/rules',
    summary: 'Add a rule to config/policy.yaml, after its cases were checked.',
  },
  pendingAlwaysRule: {
    method: 'GET',
    path: '/api/pending/{id}/always',
    summary: 'Show the rule that would allow this action from now on, and exactly what it would allow.',
  },
  pendingAlways: {
    method: 'POST',
    path: '/api/pending/{id}/always',
    summary: 'Confirm the action, and add a narrow rule that allows it from now on after it was carried out.',
  },
} as const satisfies Record<string, Endpoint>
export type PolicyEndpointName = keyof typeof policyEndpoints

const verdict = z.enum(['allow', 'ask', 'deny'])
const texts = z.array(z.string().check(z.maxLength(300))).check(z.maxLength(50))

/** A rule as config/policy.yaml has it. */
export const policyRuleSchema = z.strictObject({
  name: z.string().check(z.maxLength(60)),
  match: z.record(z.string().check(z.maxLength(30)), z.union([z.string().check(z.maxLength(300)), texts])),
  when: z.optional(z.string().check(z.maxLength(1000))),
  verdict,
  excepts: z.optional(z.union([z.string().check(z.maxLength(100)), texts])),
  reason: z.string().check(z.maxLength(300)),
})
export type PolicyRuleText = z.infer<typeof policyRuleSchema>

export const policyTestSchema = z.strictObject({
  file: z.string(),
  /** Line and reason of a fault because of which no case ran, or of the first case that fails; null without one. */
  broken: z.nullable(z.string()),
  cases: z.array(
    z.strictObject({
      line: z.int(),
      /** The effect in words. */
      effect: z.string(),
      expect: verdict,
      verdict,
      rule: z.nullable(z.string()),
      holds: z.boolean(),
    }),
  ),
})
export type PolicyTest = z.infer<typeof policyTestSchema>

export const policyStopsSchema = z.strictObject({
  stops: z.array(
    z.strictObject({
      agent_id: z.string(),
      /** The effect in words. */
      effect: z.string(),
      verdict,
      rule: z.string(),
      /** The kinds of origin of the work; null if they are not known. */
      origins: z.nullable(z.array(z.string())),
      count: z.int(),
      last_at: z.number(),
      /** How often a person approved it in the same time. */
      approved: z.int(),
      /** The narrowest rule that would allow it without asking; null if no rule can. */
      proposal: z.nullable(
        z.strictObject({
          rule: policyRuleSchema,
          /** The rule as text for config/policy.yaml. */
          text: z.string(),
          /** Exactly which actions the rule allows, in sentences. */
          allows: z.array(z.string()),
          /** What the rule would allow of everything that was asked for or denied in the same time. */
          opens: z.array(z.string()),
        }),
      ),
      /** What the owner can do if no rule can allow it, or the rule that allows it by now; empty with a proposal. */
      advice: z.string(),
    }),
  ),
  /** True if there are more than the latest ones that are listed. */
  truncated: z.boolean(),
})
export type PolicyStops = z.infer<typeof policyStopsSchema>

export const policyReachSchema = z.strictObject({
  agent_id: z.string(),
  credential: z.string(),
  /** Why the agent cannot use the credential at all; null if it can. */
  refused: z.nullable(z.string()),
  ways: z.array(
    z.strictObject({
      host: z.string(),
      /** How the credential gets there. */
      by: z.enum(['http_request', 'program', 'browser', 'mcp']),
      verdict,
      rule: z.nullable(z.string()),
    }),
  ),
  /** True if there are more ways than those that are listed. */
  truncated: z.boolean(),
})
export type PolicyReach = z.infer<typeof policyReachSchema>

export const policyApi = {
  policyTest: {
    /** The text to check; null for the rules in force. */
    request: z.strictObject({ text: z.nullable(z.string().check(z.maxLength(256 * 1024))) }),
    response: policyTestSchema,
  },
  policyStops: {
    query: z.strictObject({
      agent: z.optional(z.string().check(z.maxLength(64))),
      days: z._default(z.coerce.number().check(z.minimum(1), z.maximum(30)), 7),
    }),
    response: policyStopsSchema,
  },
  policyReach: { response: policyReachSchema },
  policyRuleAdd: {
    request: z.strictObject({ rule: policyRuleSchema }),
    response: z.strictObject({ added: z.string() }),
  },
  pendingAlwaysRule: {
    response: z.strictObject({
      rule: policyRuleSchema,
      /** The rule as text for config/policy.yaml. */
      text: z.string(),
      /** Exactly which actions the rule allows, in sentences. */
      allows: z.array(z.string()),
    }),
  },
  pendingAlways: {
    request: z.strictObject({
      /** The digest that the person was shown. */
      digest: z.string().check(z.regex(/^[0-9a-f]{64}$/, 'a digest is 64 hex digits')),
      /** The name of the rule that the person was shown, which contains a digest of the rule; absent if none was. */
      rule: z.optional(z.string().check(z.maxLength(100))),
    }),
    response: z.strictObject({
      /** The rule that was added; null if it was not. */
      rule: z.nullable(policyRuleSchema),
      /** Why the rule was not added; null if it was. */
      not_added: z.nullable(z.string()),
      approval: approvalViewSchema,
    }),
  },
} as const satisfies Record<PolicyEndpointName, EndpointSchemas>
