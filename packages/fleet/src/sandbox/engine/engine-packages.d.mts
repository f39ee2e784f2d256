/** Engine, its firewall tool, the maker of offline images and what they need. Names of Debian packages. */
export declare const enginePackages: readonly string[]
