mod browser;
mod oracle;
mod page;
