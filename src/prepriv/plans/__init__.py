"""Plans and what follows from them: noise, guarantee, prices, the stored form. No private row is read here."""
