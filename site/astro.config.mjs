import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'
import starlightLinksValidator from 'starlight-links-validator'

/** The build fails for a link to a page or heading that does not exist. */
export default defineConfig({
  outDir: process.env.DOCS_SITE_OUT,
  telemetry: false,
  integrations: [
    starlight({
      title: 'Flotilla',
      favicon: '/icon.svg',
      plugins: [starlightLinksValidator()],
      components: { MarkdownContent: './src/components/MarkdownContent.astro' },
      customCss: ['./src/site.css'],
      sidebar: [
        { label: 'Overview', link: '/' },
        { label: 'Guide', items: [{ autogenerate: { directory: 'guide' } }] },
        { label: 'Reference', items: [{ autogenerate: { directory: 'reference' } }] },
        { label: 'Operations', items: [{ autogenerate: { directory: 'operations' } }] },
        { label: 'Architecture', link: '/architecture/' },
        { label: 'Glossary', link: '/glossary/' },
        { label: 'Decisions', collapsed: true, items: [{ autogenerate: { directory: 'decisions' } }] },
        { label: 'Changelog', link: '/changelog/' },
        { label: 'Contributing', link: '/contributing/' },
        { label: 'Security', link: '/security/' },
      ],
    }),
  ],
})
