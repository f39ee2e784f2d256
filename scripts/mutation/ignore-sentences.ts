/** The part of a Babel path that this plugin of Stryker reads. */
interface TreePath {
  readonly node: {
    readonly type: string
    readonly value?: unknown
    readonly quasis?: readonly { readonly value: { readonly raw: string } }[]
    readonly expressions?: readonly { readonly type: string }[]
  }
}

const severalWords = /[a-z’']+,? [a-z]+/i

/** Returns why a mutant of this node would prove nothing; undefined if it would prove something. */
export function ignoredBecause({ node }: TreePath): string | undefined {
  const text =
    node.type === 'StringLiteral'
      ? String(node.value)
      : node.type === 'TemplateLiteral' && onlyNames(node.expressions ?? [])
        ? (node.quasis ?? []).map((part) => part.value.raw).join('${}')
        : ''
  return severalWords.test(text)
    ? 'a sentence for readers decides nothing, and a test that repeats it only holds it still'
    : undefined
}

/** Expressions inside a sentence may contain decisions, and nodes below an ignored node get no mutants. */
function onlyNames(expressions: readonly { readonly type: string }[]): boolean {
  return expressions.every(({ type }) => type === 'Identifier' || type === 'MemberExpression')
}

/** The plugin with which Stryker skips sentences. */
export const strykerPlugins = [{ kind: 'Ignore', name: 'sentences', value: { shouldIgnore: ignoredBecause } }]
