import { common, createLowlight } from 'lowlight'
import { memo } from 'react'
import type { ReactNode } from 'react'
import type { CodeNode } from './code-in.ts'
import './highlighted-code.css'

const grammars = createLowlight(common)

/** Colors code by its language; code of an unknown language stays as it is. */
export const HighlightedCode = memo(function HighlightedCode({
  language,
  text,
}: {
  readonly language: string
  readonly text: string
}) {
  return grammars.registered(language) ? drawn(grammars.highlight(language, text).children) : text
})

/** Draws elements as `span` with their classes: the tree of the highlighter has no other elements. */
function drawn(nodes: readonly CodeNode[]): ReactNode {
  return nodes.map(({ value, properties, children = [] }, index) =>
    value === undefined ? (
      <span key={index} className={classesOf(properties?.['className'])}>
        {drawn(children)}
      </span>
    ) : (
      value
    ),
  )
}

function classesOf(names: unknown): string {
  return Array.isArray(names) ? names.join(' ') : ''
}
