/** What the decorators of class-transformer declared. The package has no export of it; Nest's mapped types read it here too. */
declare module 'class-transformer/cjs/storage.js' {
  export const defaultMetadataStorage: import('class-transformer/types/MetadataStorage.js').MetadataStorage;
}
