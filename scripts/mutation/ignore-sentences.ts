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

/** Why a mutant of this node would say nothing, or undefined where it would. */
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

/** What is computed within a sentence may decide, and what is below an ignored node has no mutants either. */
function onlyNames(expressions: readonly { readonly type: string }[]): boolean {
  return expressions.every(({ type }) => type === 'Identifier' || type === 'MemberExpression')
}

/** The plugin by which Stryker leaves sentences alone. */
export const strykerPlugins = [{ kind: 'Ignore', name: 'sentences', value: { shouldIgnore: ignoredBecause } }]
