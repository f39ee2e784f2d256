import { memo } from 'react'
import ReactMarkdown from 'react-markdown'
import type { Components } from 'react-markdown'
import rehypeSanitize from 'rehype-sanitize'
import remarkGfm from 'remark-gfm'
import { CodeBlock } from './code-block.tsx'
import { codeIn } from './code-in.ts'

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
  pre: ({ node, children }) => <CodeBlock {...codeIn(node)}>{children}</CodeBlock>,
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
