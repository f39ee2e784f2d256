import * as z from 'zod'
import { settingsSchema } from '../packages/foundation/src/config/settings-file.ts'

interface Shape {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly maxItems?: number
  readonly maxLength?: number
  readonly properties?: Readonly<Record<string, Shape>>
  readonly additionalProperties?: Shape | boolean
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
  readonly oneOf?: readonly Shape[]
}

/** docs/reference/all-settings.md, made from the schema of config/settings.json. */
export function settingsDocs(): string {
  const schema = z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any' }) as Shape
  return [
    '# All settings',
    '',
    'Generated from `packages/foundation/src/config/settings-file.ts` by `npm run docs`: every key of `config/settings.json`,',
    'its type with bounds, and its default. `NAME` is a name that you choose. Unknown keys are rejected with',
    'their line. The file is read again whenever it changes. Explanations of common keys: [settings](settings.md).',
    '',
    '| key | type | default |',
    '| --- | --- | --- |',
    ...joinVariants(rowsOf('', schema)).map(
      ({ key, type, initial }) => `| \`${key}\` | ${type} | ${initial} |`,
    ),
    '',
  ].join('\n')
}

interface Row {
  readonly key: string
  readonly type: string
  readonly initial: string
}

/** Joins keys that several variants have into one row. */
function joinVariants(rows: readonly Row[]): readonly Row[] {
  const byKey = Map.groupBy(rows, ({ key }) => key)
  return [...byKey].map(([key, [first, ...others]]) => ({
    key,
    type: [...new Set([first, ...others].map((row) => row?.type ?? ''))].join(' or '),
    initial: first?.initial ?? '',
  }))
}

function rowsOf(path: string, shape: Shape): readonly Row[] {
  const children = [
    ...Object.entries(shape.properties ?? {}),
    ...(typeof shape.additionalProperties === 'object'
      ? [['NAME', shape.additionalProperties] as const]
      : []),
  ]
  if (children.length > 0) {
    return children.flatMap(([name, child]) => rowsOf(path === '' ? name : `${path}.${name}`, child))
  }
  const variants = (shape.oneOf ?? shape.anyOf ?? []).filter((variant) => variant.properties !== undefined)
  if (variants.length > 0) return variants.flatMap((variant) => rowsOf(path, variant))
  const initial = shape.default === undefined ? '' : `\`${JSON.stringify(shape.default)}\``
  return [{ key: path, type: typeOf(shape), initial }]
}

function typeOf(shape: Shape): string {
  if (shape.const !== undefined) return `\`${JSON.stringify(shape.const)}\``
  if (shape.enum !== undefined) return shape.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ')
  const variants = shape.oneOf ?? shape.anyOf
  if (variants !== undefined) return [...new Set(variants.map(typeOf))].join(' or ')
  if (shape.type === 'array') {
    const most = shape.maxItems === undefined ? '' : `, at most ${shape.maxItems}`
    return `list of ${shape.items === undefined ? 'values' : typeOf(shape.items)}${most}`
  }
  const name = typeof shape.type === 'string' ? shape.type : 'value'
  return [name, ...boundsOf(shape)].join(', ')
}

function boundsOf(shape: Shape): readonly string[] {
  const safe = (value?: number) =>
    value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined
  const [least, most] = [safe(shape.minimum), safe(shape.maximum)]
  return [
    ...(least === undefined ? [] : [`at least ${least}`]),
    ...(shape.exclusiveMinimum === undefined ? [] : [`more than ${shape.exclusiveMinimum}`]),
    ...(most === undefined ? [] : [`at most ${most}`]),
    ...(shape.maxLength === undefined ? [] : [`at most ${shape.maxLength} characters`]),
  ]
}
