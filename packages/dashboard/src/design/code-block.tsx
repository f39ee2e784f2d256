import { Suspense, lazy, useRef } from 'react'
import type { ComponentType, ReactNode } from 'react'
import { CopyButton } from './copy-button.tsx'

/** The longest code that is highlighted, in characters: agents write it, and each language has slow patterns. */
const highlightedMaxChars = 20_000

/** Without its chunk, such as after an upgrade of the mesh, code is shown without colors. */
const HighlightedCode = lazy<ComponentType<{ readonly language: string; readonly text: string }>>(() =>
  import('./highlighted-code.tsx').then(
    (module) => ({ default: module.HighlightedCode }),
    () => ({ default: ({ text }) => text }),
  ),
)

/** A block of code with a button that copies it, highlighted if it names its language. */
export function CodeBlock({
  language,
  text,
  children,
}: {
  /** The language after the fence; null if none is named. */
  readonly language: string | null
  readonly text: string
  /** The code without highlighting. */
  readonly children?: ReactNode
}) {
  const block = useRef<HTMLPreElement>(null)
  const isHighlighted = language !== null && text.length <= highlightedMaxChars
  return (
    <div className="code-block">
      {/* A part that scrolls must be reachable by keyboard. */}
      <pre ref={block} tabIndex={0}>
        {isHighlighted ? (
          <Suspense fallback={children}>
            <code>
              <HighlightedCode language={language} text={text} />
            </code>
          </Suspense>
        ) : (
          children
        )}
      </pre>
      <CopyButton
        text={() => block.current?.textContent ?? ''}
        what="the code"
        className="button small copy"
      />
    </div>
  )
}
