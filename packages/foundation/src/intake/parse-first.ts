import * as z from 'zod'

type Schema = z.core.$ZodType
type Payload = z.core.ParsePayload
type Run = Schema['_zod']['parse']

/** How many members of a list or record are validated before checking whether one was invalid. */
const stepMembers = 8

/**
 * Validates a value by a schema and stops at the first invalid members. A plain schema validates every member of a
 * list and keeps an issue for each: two million invalid ones took seconds and 700 MB, or overflowed the stack. Valid
 * input gives the same result.
 */
export function parseFirst<S extends Schema>(schema: S, value: unknown): z.ZodSafeParseResult<z.output<S>> {
  return z.safeParse(endingAtFirst(schema), value)
}

const prepared = new WeakSet<Schema>()

/** Changes and returns the schema: its lists and records, at any depth, stop at the first step with a bad member. */
export function endingAtFirst<S extends Schema>(schema: S): S {
  if (prepared.has(schema)) return schema
  prepared.add(schema)
  const { def } = schema._zod
  for (const inner of schemasIn(def)) endingAtFirst(inner)
  if (def.type === 'lazy') {
    const { innerType } = schema._zod as unknown as { readonly innerType: Schema }
    endingAtFirst(innerType)
  }
  if (def.type === 'array') inSteps(schema, listStep)
  // A record of known names cannot have more members than names.
  if (def.type === 'record' && !hasKnownNames(schema)) inSteps(schema, recordStep)
  return schema
}

/** Returns the schemas that the definition of a schema refers to, in its fields or in lists and records in them. */
function schemasIn(def: object): readonly Schema[] {
  const values = Object.values({ ...def, ...('shape' in def ? { shape: def.shape } : {}) })
  return values.flatMap((value: unknown): readonly Schema[] => {
    if (isSchema(value)) return [value]
    if (typeof value !== 'object' || value === null) return []
    return Object.values(value).filter(isSchema)
  })
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && '_zod' in value && 'run' in (value._zod as object)
}

function hasKnownNames(schema: Schema): boolean {
  const { keyType } = schema._zod.def as unknown as { readonly keyType: Schema }
  return keyType._zod.values !== undefined
}

/** A list or record that is validated in steps of `stepMembers` members. */
interface Steps {
  readonly count: number
  slice(from: number, to: number): unknown
  readonly whole: unknown
  join(part: unknown, from: number): void
  /** True if issues of a step need their index shifted. */
  readonly shift: boolean
}

function inSteps(schema: Schema, stepsOf: (value: unknown) => Steps | null): void {
  const { _zod } = schema
  const judge: Run = _zod.parse
  const hasChecks = _zod.run !== judge
  // The plain schema rejects a list over its maximum before it validates members.
  const countMax = Math.min(...z.core.util.sizeCaps(_zod.def.checks).map(([max]) => max))
  const parse: Run = (payload, context) => {
    const steps = stepsOf(payload.value)
    if (steps === null || steps.count > countMax) return judge(payload, context)
    for (let from = 0; from < steps.count; from += stepMembers) {
      const to = Math.min(from + stepMembers, steps.count)
      const done = judge({ value: steps.slice(from, to), issues: [] }, context)
      if (done instanceof Promise) throw new Error('a schema at an API answers at once')
      if (done.issues.length > 0) return withIssues(payload, done, steps.shift ? from : 0)
      steps.join(done.value, from)
    }
    payload.value = steps.whole
    return payload
  }
  _zod.parse = parse
  if (!hasChecks) _zod.run = parse
}

function withIssues(payload: Payload, done: Payload, shift: number): Payload {
  for (const issue of done.issues) {
    const [first, ...rest] = issue.path ?? []
    payload.issues.push(typeof first === 'number' ? { ...issue, path: [first + shift, ...rest] } : issue)
  }
  return payload
}

function listStep(value: unknown): Steps | null {
  if (!Array.isArray(value) || value.length <= stepMembers) return null
  const whole: unknown[] = []
  return {
    count: value.length,
    whole,
    shift: true,
    slice: (from, to) => value.slice(from, to),
    join: (part) => void whole.push(...(part as unknown[])),
  }
}

function recordStep(value: unknown): Steps | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const names = Object.keys(value)
  if (names.length <= stepMembers) return null
  const from = value as Readonly<Record<string, unknown>>
  const whole: Record<string, unknown> = {}
  return {
    count: names.length,
    whole,
    shift: false,
    slice: (start, end) => Object.fromEntries(names.slice(start, end).map((name) => [name, from[name]])),
    join: (part) => void Object.assign(whole, part),
  }
}
