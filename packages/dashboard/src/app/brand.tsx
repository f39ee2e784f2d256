import { Link } from 'wouter'

/** The logo as inline SVG, so that no request for it can fail; the tab shows the same one from `icon.svg`. */
export function Brand() {
  return (
    <Link href="/chat" className="brand">
      <svg width="20" height="20" viewBox="0 0 24 24" aria-hidden="true">
        <rect width="24" height="24" rx="6" fill="#5b5bd6" />
        <path
          d="M12 4v11M12 5l6 9H12M12 8l-4 6h4M5 17c2 2 4 2 7 0s5-2 7 0"
          fill="none"
          stroke="#fff"
          strokeWidth="1.6"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      Flotilla
    </Link>
  )
}
