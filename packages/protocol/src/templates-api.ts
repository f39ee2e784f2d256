import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { templateLimits } from './limits.ts'

/** Fleets as files, at the people's API: list, plan, apply, export. */
export const templateEndpoints = {
  templates: { method: 'GET', path: '/api/templates', summary: 'List the templates.' },
  template: { method: 'GET', path: '/api/templates/{name}', summary: 'Return the text of one template.' },
  templatePlan: {
    method: 'POST',
    path: '/api/templates/plan',
    summary: 'Return what applying a template would create and change, without changing anything.',
  },
  templateApplyPlan: {
    method: 'POST',
    path: '/api/templates/apply',
    summary: 'Apply a template completely, or not at all.',
  },
  templateApply: {
    method: 'POST',
    path: '/api/templates/{name}/apply',
    summary: 'Create the missing agents of a template.',
  },
  fleetExport: {
    method: 'GET',
    path: '/api/export',
    summary: 'Return the workers as a template, with triggers, files and budgets.',
  },
} as const satisfies Record<string, Endpoint>

export type TemplateEndpointName = keyof typeof templateEndpoints

const templateName = z
  .string()
  .check(z.regex(/^[a-z0-9][a-z0-9-]{0,63}$/, 'a template is named by a-z 0-9 and -, 64 at most'))

export const planItemSchema = z.strictObject({
  kind: z.enum(['project', 'agent', 'schedule', 'webhook', 'watch', 'watcher']),
  /** The id of an agent, schedule or project; for other kinds agent and name, pattern, or folder and pattern. */
  id: z.string(),
  /** `by-hand`: this caller may not do it; webhooks are created only at the dashboard or by its API. */
  action: z.enum(['create', 'change', 'keep', 'by-hand']),
  /** The changed fields with their new and previous values; `before` is null for a new value. */
  changes: z.array(z.strictObject({ field: z.string(), before: z.nullable(z.string()), after: z.string() })),
  /** An obstacle on this machine, despite which the item can be applied. */
  warning: z.optional(z.string()),
})
export type PlanItem = z.infer<typeof planItemSchema>

export const templatePlanSchema = z.strictObject({
  name: z.string(),
  description: z.string(),
  items: z.array(planItemSchema),
  /** Digest of the template and of the plan; a request to apply it with this digest applies this plan or nothing. */
  digest: z.string(),
})
export type TemplatePlan = z.infer<typeof templatePlanSchema>

/** A template: its name, or its text. */
const source = {
  name: z.optional(templateName),
  text: z.optional(z.string().check(z.maxLength(templateLimits.fileMaxChars))),
}

/** A setting that a template cannot contain, and the command that sets it by hand. */
const leftOutSchema = z.strictObject({ what: z.string(), why: z.string(), command: z.nullable(z.string()) })
export type LeftOut = z.infer<typeof leftOutSchema>

export const templatesApi = {
  templates: {
    response: z.strictObject({
      templates: z.array(
        z.strictObject({
          name: z.string(),
          /** `home` if the owner wrote it, in `templates/` of the home folder. */
          from: z.enum(['home', 'shipped']),
          description: z.string(),
          agents: z.array(z.string()),
          /** Why the template cannot be applied; null if it can be applied. */
          broken: z.nullable(z.string()),
        }),
      ),
    }),
  },
  template: { response: z.strictObject({ name: z.string(), text: z.string() }) },
  templatePlan: { request: z.strictObject(source), response: templatePlanSchema },
  templateApplyPlan: {
    request: z.strictObject({ ...source, digest: z.optional(z.string().check(z.maxLength(64))) }),
    response: z.strictObject({
      plan: templatePlanSchema,
      /** Secrets of new signed webhooks, shown only this once. */
      secrets: z.array(z.strictObject({ webhook: z.string(), path: z.string(), secret: z.string() })),
    }),
  },
  templateApply: {
    response: z.strictObject({ created: z.array(z.string()), existing: z.array(z.string()) }),
  },
  fleetExport: {
    query: z.strictObject({
      name: z._default(templateName, 'fleet'),
      /** Agent ids, separated by commas; all workers if omitted. */
      agents: z.optional(z.string().check(z.maxLength(10_000))),
    }),
    response: z.strictObject({ text: z.string(), left_out: z.array(leftOutSchema) }),
  },
} as const satisfies Record<TemplateEndpointName, EndpointSchemas>
