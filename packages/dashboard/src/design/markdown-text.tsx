import { memo, useRef } from 'react'
import type { ReactNode } from 'react'
import ReactMarkdown from 'react-markdown'
import type { Components } from 'react-markdown'
import rehypeSanitize from 'rehype-sanitize'
import remarkGfm from 'remark-gfm'
import { CopyButton } from './copy-button.tsx'

/**
 * A link shows its target, opens in a new tab and sends no referrer. A picture on another host is shown as a link,
 * because the page sends requests to the mesh only.
 */
const drawn: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {children}
    </a>
  ),
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  img: ({ src, alt }) => (
    <a href={typeof src === 'string' ? src : undefined} target="_blank" rel="noopener noreferrer nofollow">
      {alt === undefined || alt === '' ? 'picture' : alt}
    </a>
  ),
}

/** Renders Markdown: HTML in it stays text, and the result is checked against an allow-list. */
export const MarkdownText = memo(function MarkdownText({ text }: { readonly text: string }) {
  return (
    <div className="prose">
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[rehypeSanitize]} components={drawn}>
        {text}
      </ReactMarkdown>
    </div>
  )
})

/** A block of code with a button that copies it. */
function CodeBlock({ children }: { readonly children?: ReactNode }) {
  const block = useRef<HTMLPreElement>(null)
  return (
    <div className="code-block">
      {/* A part that scrolls must be reachable by keyboard. */}
      <pre ref={block} tabIndex={0}>
        {children}
      </pre>
      <CopyButton
        text={() => block.current?.textContent ?? ''}
        what="the code"
        className="button small copy"
      />
    </div>
  )
}
