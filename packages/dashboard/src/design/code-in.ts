/** The parts of a Markdown syntax tree that hold code. */
export interface CodeNode {
  readonly type: string
  readonly value?: string
  readonly properties?: Readonly<Record<string, unknown>>
  readonly children?: readonly CodeNode[]
}

/** Returns the code of a `pre` element and the language that its fence names. Pure. */
export function codeIn(pre: CodeNode | undefined): {
  readonly language: string | null
  readonly text: string
} {
  const classes = pre?.children?.[0]?.properties?.['className']
  const named = Array.isArray(classes) ? classes.find((one) => /^language-./.test(String(one))) : undefined
  return {
    language: named === undefined ? null : String(named).slice('language-'.length).toLowerCase(),
    text: pre === undefined ? '' : textOf(pre),
  }
}

function textOf({ value, children = [] }: CodeNode): string {
  return value ?? children.map(textOf).join('')
}
